// This program once more, as its killer sees it.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace demo {

using Time = std::chrono::steady_clock::time_point;

class Victim {
 public:
  /// Starts it with these arguments.
  explicit Victim(const std::vector<std::string>& arguments);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  [[nodiscard]] Time started() const { return started_; }
  /// Its next line; empty at `deadline`, or when it has ended.
  [[nodiscard]] std::optional<std::string> read_line(Time deadline);
  /// SIGKILL; what it said before can still be read.
  void kill();
  /// Its status, as waitpid gives it, once it has ended.
  [[nodiscard]] int wait();
  /// It ended by itself: there is nothing more to read.
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  Time started_;
  std::string buffer_;
};

}  // namespace demo
