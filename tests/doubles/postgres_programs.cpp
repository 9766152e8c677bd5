// Forked and not spawned: between fork and exec the child gives up its rights and asks to be told
// of its parent's death, which posix_spawn cannot do. Only plain system calls happen there, since
// the process may have threads.

#include "doubles/postgres_programs.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <optional>
#include <poll.h>
#include <pwd.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "doubles/process_watch.hpp"

namespace perdure {
namespace {

struct Account {
  uid_t user;
  gid_t group;
};

// Empty: as whoever we are.
std::optional<Account> unprivileged_account() {
  if (geteuid() != 0) return std::nullopt;
  const passwd* const found = getpwnam("postgres");
  if (found == nullptr) throw std::runtime_error("there is no user postgres to run a server as");
  return Account{.user = found->pw_uid, .group = found->pw_gid};
}

// What the child needs, made before the fork.
struct Start {
  std::optional<Account> account;
  std::vector<char*> arguments;
  int log = -1;
  pid_t parent = -1;
};

[[noreturn]] void become(const Start& start) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(start.log, STDOUT_FILENO);
  dup2(start.log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  bool good = true;
  if (start.account) {
    good = setgroups(0, nullptr) == 0 && setgid(start.account->group) == 0 &&
           setuid(start.account->user) == 0;
  }
  // After the change of user, which forgets it. Who died before this line is not told of, so look.
  good = good && prctl(PR_SET_PDEATHSIG, SIGQUIT) == 0 && getppid() == start.parent;
  if (good) execv(start.arguments.front(), start.arguments.data());
  _exit(127);
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

pid_t start_postgres_program(const std::string& name, const std::vector<std::string>& arguments,
                             const std::string& log) {
  const bool is_path = name.starts_with('/');
  std::vector<std::string> words = {is_path ? name : PERDURE_POSTGRES_PROGRAMS "/" + name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Start start{.account = unprivileged_account(), .arguments = {}, .parent = getpid()};
  for (std::string& word : words) start.arguments.push_back(word.data());
  start.arguments.push_back(nullptr);
  start.log = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (start.log < 0) fail("cannot write " + log);
  const pid_t child = fork();
  if (child == 0) become(start);
  close(start.log);
  if (child < 0) fail("cannot start " + name);
  return child;
}

void run_postgres_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::string& log) {
  const pid_t child = start_postgres_program(name, arguments, log);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw std::runtime_error(name + " failed:\n" + text_of_file(log));
}

void give_to_postgres(const std::string& folder) {
  const auto account = unprivileged_account();
  if (account && chown(folder.c_str(), account->user, account->group) != 0) {
    fail("cannot give away " + folder);
  }
}

bool await_end(pid_t child, std::chrono::milliseconds timeout) {
  const int descriptor = watch_process(child);
  if (descriptor < 0) fail("no such child");
  pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
  const int count = poll(&wanted, 1, static_cast<int>(timeout.count()));
  close(descriptor);
  if (count <= 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child;
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace perdure
