// A writer process as its killer sees it.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>

namespace demo {

using Time = std::chrono::steady_clock::time_point;

class Victim {
 public:
  /// Starts this program once more, as a writer.
  explicit Victim(const std::string& store_path);
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  [[nodiscard]] Time started() const { return started_; }
  /// Its next line; empty at `deadline`, or when it has ended.
  [[nodiscard]] std::optional<std::string> read_line(Time deadline);
  /// SIGKILL; what it said before can still be read.
  void kill();
  /// It ended by itself.
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  Time started_;
  std::string buffer_;
};

}  // namespace demo
