// A process of our own, started to be killed: its output is read line by line, its
// input is written to, and it never outlives this object.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace perdure {

/// How a process ended.
struct Ending {
  std::optional<int> code;    ///< Of a process that exited.
  std::optional<int> signal;  ///< That ended it.

  [[nodiscard]] bool was_killed() const;
  [[nodiscard]] bool is_clean() const { return code == 0; }
  [[nodiscard]] std::string text() const;
};

class ChildProcess {
 public:
  /// Starts `program`, a file in the folder of this test's own executable.
  ChildProcess(const std::string& program, std::vector<std::string> arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next whole line without its newline; empty when the process has closed its
  /// output, or when none came in time. A line cut off by death is not a line.
  [[nodiscard]] std::optional<std::string> read_line(
      std::chrono::milliseconds timeout = std::chrono::minutes(5));
  /// All lines until the process ends.
  [[nodiscard]] std::vector<std::string> read_to_end();
  /// Writes a line to its input; a process that is gone does not hear it.
  void tell(const std::string& line) const;

  void kill() const;
  /// Returns when it is stopped (SIGSTOP) or has ended: whether it is stopped.
  [[nodiscard]] bool wait_until_stopped();
  /// Lets it run again.
  void go_on() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Waits for the end. Kills a process that does not end in five minutes.
  Ending wait();

 private:
  std::optional<std::string> take_line();
  void note_end(int status);

  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
  std::optional<Ending> ending_;
};

}  // namespace perdure
