// Plain fork and exec: the killer is a single thread and holds no store while it kills.

#include "victim.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace demo {

Victim::Victim(const std::vector<std::string>& arguments) {
  std::vector<std::string> owned{"perdure_demo"};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : owned) words.push_back(word.data());
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "no pipe");
  }
  started_ = std::chrono::steady_clock::now();
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "no process");
  if (pid_ == 0) {
    // Somebody may kill the killer: nothing is left running then.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    execv("/proc/self/exe", words.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

Victim::~Victim() {
  kill();
  close(output_);
}

std::optional<std::string> Victim::read_line(Time deadline) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    const auto left = std::clamp<std::chrono::steady_clock::duration>(
        deadline - std::chrono::steady_clock::now(), {}, std::chrono::minutes(1));
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(left);
    struct pollfd wanted{};
    wanted.fd = output_;
    wanted.events = POLLIN;
    if (poll(&wanted, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
    std::array<char, 4096> chunk{};
    const ssize_t size = read(output_, chunk.data(), chunk.size());
    ended_ = size <= 0;
    if (ended_) return std::nullopt;
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

void Victim::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  (void)wait();
}

int Victim::wait() {
  int status = -1;
  if (pid_ >= 0) waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

}  // namespace demo
