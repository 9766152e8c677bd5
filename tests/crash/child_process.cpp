// Started by posix_spawn: a plain fork would copy the locks a store of the test holds
// into a process that does not know of them.

#include "crash/child_process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace perdure {
namespace {

struct Pipe {
  int reads = -1;
  int writes = -1;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "no pipe");
  }
  return {.reads = ends[0], .writes = ends[1]};
}

std::string beside_this_program(const std::string& program) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
}

pid_t spawn(std::vector<std::string> words, const Pipe& input, const Pipe& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.reads, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.writes, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int code =
      posix_spawn(&pid, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    throw std::system_error(code, std::generic_category(), "cannot start " + words.front());
  return pid;
}

bool is_readable(int descriptor, std::chrono::milliseconds timeout) {
  struct pollfd wanted{};
  wanted.fd = descriptor;
  wanted.events = POLLIN;
  int count = 0;
  do {
    count = poll(&wanted, 1, static_cast<int>(timeout.count()));
  } while (count < 0 && errno == EINTR);
  return count > 0;
}

}  // namespace

bool Ending::was_killed() const { return signal == SIGKILL; }

std::string Ending::text() const {
  return code ? fmt::format("exit code {}", *code) : fmt::format("signal {}", signal.value_or(0));
}

ChildProcess::ChildProcess(const std::string& program, std::vector<std::string> arguments) {
  // A child that is gone must show as a failed write, not end the test.
  signal(SIGPIPE, SIG_IGN);
  const Pipe input = open_pipe();
  const Pipe output = open_pipe();
  arguments.insert(arguments.begin(), beside_this_program(program));
  pid_ = spawn(std::move(arguments), input, output);
  close(input.reads);
  close(output.writes);
  input_ = input.writes;
  output_ = output.reads;
}

ChildProcess::~ChildProcess() {
  if (!ending_) {
    kill();
    wait();
  }
  close(input_);
  close(output_);
}

std::optional<std::string> ChildProcess::take_line() {
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::optional<std::string> ChildProcess::read_line(std::chrono::milliseconds timeout) {
  for (;;) {
    if (auto line = take_line()) return line;
    if (!is_readable(output_, timeout)) return std::nullopt;
    std::array<char, 65536> chunk{};
    const ssize_t size = read(output_, chunk.data(), chunk.size());
    if (size <= 0) return std::nullopt;
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  }
}

std::vector<std::string> ChildProcess::read_to_end() {
  std::vector<std::string> lines;
  while (auto line = read_line()) lines.push_back(*std::move(line));
  return lines;
}

void ChildProcess::tell(const std::string& line) const {
  const std::string text = line + "\n";
  [[maybe_unused]] const auto written = write(input_, text.data(), text.size());
}

void ChildProcess::kill() const {
  if (!ending_) ::kill(pid_, SIGKILL);
}

bool ChildProcess::wait_until_stopped() {
  if (ending_) return false;
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
  if (WIFSTOPPED(status)) return true;
  note_end(status);
  return false;
}

void ChildProcess::go_on() const {
  if (!ending_) ::kill(pid_, SIGCONT);
}

void ChildProcess::note_end(int status) {
  Ending ending;
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  ending_ = ending;
}

Ending ChildProcess::wait() {
  if (ending_) return *ending_;
  // Its output ends when it does: that is the signal with a deadline.
  bool ended = false;
  while (!ended && is_readable(output_, std::chrono::minutes(5))) {
    std::array<char, 65536> chunk{};
    const ssize_t size = read(output_, chunk.data(), chunk.size());
    if (size > 0) buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    ended = size <= 0;
  }
  if (!ended) kill();
  int status = 0;
  waitpid(pid_, &status, 0);
  note_end(status);
  return *ending_;
}

}  // namespace perdure
