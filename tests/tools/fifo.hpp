// A named pipe: how a program tells its test that it has come so far, and is told to go on.

#pragma once

#include <cstddef>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace perdure {

class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no fifo " + path_);
    // For both, so that it neither blocks nor ends while nobody is at the other end.
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  ~Fifo() { ::close(fd_); }

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Without its end; empty if none came in time.
  [[nodiscard]] std::string read_line(int ms_max = 20'000) const {
    std::string line;
    for (;;) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      char byte = 0;
      if (::poll(&ready, 1, ms_max) != 1 || ::read(fd_, &byte, 1) != 1) return {};
      if (byte == '\n') return line;
      line += byte;
    }
  }
  void write_line(const std::string& line) const {
    const std::string text = line + "\n";
    if (::write(fd_, text.data(), text.size()) < 0) throw std::runtime_error("fifo");
  }

 private:
  std::string path_;
  int fd_ = -1;
};

/// Whether the process ends in time. One that is not there has ended.
[[nodiscard]] bool has_ended(pid_t process, int ms_max);

}  // namespace perdure
