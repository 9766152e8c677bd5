// The keeper of a PostgreSQL server that a whole run of tests shares:
//
//   postgres_cluster --watch PID|parent [--detach] [--in FOLDER]
//
// starts a server, prints its address, and stops it and removes all it had when the process PID
// ends, however that does. With --detach it stays behind when this command returns. Under ctest it is
// a test that others require (tests/CMakeLists.txt), and it watches ctest, its parent. Python
// starts it with --watch of its own id and reads one line.
//
// Its folder is in memory where there is room: fsync is on, and costs nothing there. Every test makes
// a store, and a store has half a hundred files that PostgreSQL syncs one by one when it makes them.
// What the tests over it are about is the death of processes and connections; a server
// that dies itself is a test's own (postgres_server.hpp), and on disk.
//
// Test programs find the server by the note that lies beside them: see postgres_note.hpp. If this
// process is killed itself, the server is told by the kernel, and ends.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "doubles/postgres_note.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/process_watch.hpp"
#include "doubles/temp_folder.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

std::filesystem::path roomy_folder() {
  constexpr std::uintmax_t enough = std::uintmax_t{2} << 30;
  const auto memory = memory_folder();
  const bool has_room = std::filesystem::space(memory).available >= enough;
  return has_room ? memory : std::filesystem::temp_directory_path();
}

struct Orders {
  pid_t watched = 0;
  bool is_parent = false;
  bool detach = false;
  std::filesystem::path folder = roomy_folder();
};

Orders read_orders(std::span<char*> words) {
  Orders orders;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--detach") {
      orders.detach = true;
    } else if (word == "--in" && i + 1 < words.size()) {
      orders.folder = words[++i];
    } else if (word == "--watch" && i + 1 < words.size()) {
      const std::string who = words[++i];
      orders.is_parent = who == "parent";
      orders.watched = orders.is_parent ? getppid() : std::stoi(who);
    } else {
      orders.watched = 0;
      break;
    }
  }
  return orders;
}

int watch(const Orders& orders) {
  const int watched = watch_process(orders.watched);
  if (watched < 0) throw std::system_error(errno, std::generic_category(), "nobody to watch");
  // Had it died meanwhile, its number could be another's.
  if (orders.is_parent && getppid() != orders.watched) throw std::runtime_error("an orphan");
  return watched;
}

// Those who ask us to stop are heard as a descriptor is.
int hear_signals() {
  sigset_t asked;
  sigemptyset(&asked);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&asked, signal);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  return signalfd(-1, &asked, SFD_CLOEXEC);
}

// Keeps a server until nobody needs it; `told` hears its address and then nothing more.
void keep(const Orders& orders, int watched, int told) {
  const int signals = hear_signals();
  PostgresServer server({}, PostgresServer::Content::fresh, orders.folder);
  server.start();
  const PostgresNote note(orders.watched, server.address(), server.folder());
  const std::string line = server.address() + "\n";
  if (write(told, line.data(), line.size()) < 0) return;
  close(told);
  const int ended = watch_process(server.process());
  std::array<pollfd, 3> wanted = {{{.fd = watched, .events = POLLIN, .revents = 0},
                                   {.fd = signals, .events = POLLIN, .revents = 0},
                                   {.fd = ended, .events = POLLIN, .revents = 0}}};
  while (poll(wanted.data(), wanted.size(), -1) < 0 && errno == EINTR) {
  }
}

// In a session of its own, and with no end of anybody's pipe: ctest waits for those.
void keep_apart(const Orders& orders, int watched, int told) {
  setsid();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, each);
  try {
    keep(orders, watched, told);
  } catch (const std::exception& problem) {
    const std::string line = std::string("!") + problem.what() + "\n";
    [[maybe_unused]] const auto written = write(told, line.data(), line.size());
  }
}

// Returns when the one that stays behind has its server: with its address, or "!" and why not.
std::string start_apart(const Orders& orders, int watched) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    keep_apart(orders, watched, ends[1]);
    std::_Exit(0);
  }
  close(ends[1]);
  std::string heard;
  std::array<char, 4096> chunk{};
  for (ssize_t size = 0; (size = read(ends[0], chunk.data(), chunk.size())) > 0;) {
    heard.append(chunk.data(), static_cast<std::size_t>(size));
  }
  if (!heard.starts_with("postgres")) throw std::runtime_error(heard);
  return heard;
}

}  // namespace

int main(int count, char** words) {
  try {
    const Orders orders = read_orders({words, static_cast<std::size_t>(count)});
    if (orders.watched <= 0) {
      std::fputs("usage: postgres_cluster --watch PID|parent [--detach] [--in FOLDER]\n", stderr);
      return 2;
    }
    const int watched = watch(orders);
    if (!orders.detach) {
      keep(orders, watched, STDOUT_FILENO);
    } else {
      std::fputs(start_apart(orders, watched).c_str(), stdout);
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "postgres_cluster: %s\n", problem.what());
    return 1;
  }
}
