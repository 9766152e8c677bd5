// posix_spawn and never fork: this process has threads. The new process gets four descriptors and
// no others, signals as they are by default, and a session of its own: a group that it leads, and
// no terminal.

#include "tools/process/spawn.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <expected>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perdure/core/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "tools/process/program.hpp"

namespace perdure {
namespace {

constexpr int gate_number = 3;
constexpr std::string_view wait_at_gate = R"(read -r go <&3 || exit 75; exec 3<&-; exec "$@")";

std::unexpected<Error> cannot_start(std::string_view what, int error) {
  return fail(ErrorCode::unavailable,
              std::string(what) + ": " + std::generic_category().message(error));
}

// Above the numbers that the child's descriptors get, so that none is overwritten before its turn.
Descriptor moved_up(int fd) {
  constexpr int first = 16;
  const Descriptor low(fd);
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, first));
}

struct Pair {
  Descriptor ours{};
  Descriptor theirs{};
  [[nodiscard]] bool is_open() const { return ours.is_open() && theirs.is_open(); }
};

Pair pipe_from_child() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  Pair pair{.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

// A socket and not a pipe: writing to one whose other end is gone must not raise a signal.
Pair gate_to_child() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  return {.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
}

Descriptor file_of(std::string_view bytes) {
  Descriptor file = moved_up(::memfd_create("input", MFD_CLOEXEC));
  while (file.is_open() && !bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (file.is_open() && ::lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] int give(const Descriptor& from, int number) {
    return posix_spawn_file_actions_adddup2(&actions_, from.get(), number);
  }
  [[nodiscard]] int close_from(int number) {
    return posix_spawn_file_actions_addclosefrom_np(&actions_, number);
  }
  [[nodiscard]] int enter(const std::string& folder) {
    return posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Gated> spawn_gated(const ProgramSpec& spec) {
  const Descriptor input = file_of(spec.input);
  Pair output = pipe_from_child();
  Pair errors = pipe_from_child();
  Pair gate = gate_to_child();
  if (!input.is_open() || !output.is_open() || !errors.is_open() || !gate.is_open()) {
    return cannot_start("no descriptors for a program", errno);
  }
  Actions actions;
  for (const int failed :
       {actions.enter(spec.folder), actions.give(input, STDIN_FILENO),
        actions.give(output.theirs, STDOUT_FILENO), actions.give(errors.theirs, STDERR_FILENO),
        actions.give(gate.theirs, gate_number), actions.close_from(gate_number + 1)}) {
    if (failed != 0) return cannot_start("cannot prepare a program", failed);
  }
  std::vector<std::string> argv = {"sh", "-c", std::string(wait_at_gate), "sh"};
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  std::vector<std::string> environment = spec.environment;
  const Attributes attributes;
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/bin/sh", actions.get(), attributes.get(),
                                 pointers_to(argv).data(), pointers_to(environment).data());
  if (failed != 0) return cannot_start("cannot start a program in " + spec.folder, failed);
  Gated gated{.pid = pid,
              .process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
              .gate = std::move(gate.ours),
              .output = std::move(output.ours),
              .errors = std::move(errors.ours)};
  if (!gated.process.is_open()) {
    const int error = errno;
    gated.gate.close();
    ::waitpid(pid, nullptr, 0);
    return cannot_start("cannot watch a program", error);
  }
  return gated;
}

bool open_gate(Gated& gated) {
  const bool is_open = ::send(gated.gate.get(), "\n", 1, MSG_NOSIGNAL) == 1;
  gated.gate.close();
  return is_open;
}

}  // namespace perdure
