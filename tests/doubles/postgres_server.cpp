// Settings are given on the command line: nothing in the data folder says where the server is, so
// that it can be copied.

#include "doubles/postgres_server.hpp"

#include <chrono>
#include <csignal>
#include <libpq-fe.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "doubles/free_port.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/process_watch.hpp"

namespace perdure {
namespace {

// Small, since many run beside each other, and nothing outside its folder: dynamic shared memory
// would outlive a killed server in /dev/shm.
PostgresServer::Settings usual_settings() {
  return {"listen_addresses=127.0.0.1",
          "fsync=on",
          "shared_buffers=64MB",
          "max_connections=200",
          "max_locks_per_transaction=256",
          "max_wal_size=256MB",
          "dynamic_shared_memory_type=mmap",
          "jit=off",
          "log_line_prefix=%m [%p] ",
          "timezone=UTC",
          "log_timezone=UTC"};
}

// Its children would end by themselves, but only when they look; and while one of them lives, the
// server cannot be started again.
void kill_with_children(pid_t process) {
  kill(process, SIGSTOP);  // So that it has no further ones.
  const std::string number = std::to_string(process);
  std::istringstream children(text_of_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pollfd> wanted;
  for (pid_t child = 0; children >> child;) {
    const int descriptor = watch_process(child);
    if (descriptor < 0) continue;
    kill(child, SIGKILL);
    wanted.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
  kill(process, SIGKILL);
  for (pollfd& each : wanted) {
    poll(&each, 1, 10'000);
    close(each.fd);
  }
}

}  // namespace

PostgresServer::PostgresServer(Settings settings, Content content,
                               const std::filesystem::path& within)
    : folder_(within), settings_(usual_settings()), port_(free_port()) {
  settings_.insert(settings_.end(), settings.begin(), settings.end());
  give_to_postgres(folder());
  if (content == Content::bare) return;
  // Not synced: only what happens from now on has to survive, and a server syncs that.
  run_postgres_program("initdb",
                       {"--pgdata=" + data_folder(), "--username=perdure", "--auth=trust",
                        "--encoding=UTF8", "--locale=C", "--no-sync"},
                       log_file());
}

PostgresServer::~PostgresServer() {
  if (is_running()) stop(Stop::immediate);
}

std::string PostgresServer::address() const {
  return "postgres://perdure@127.0.0.1:" + std::to_string(port_) + "/postgres";
}

std::string PostgresServer::log() const { return text_of_file(log_file()); }

// False if it ended instead. There is nothing to wait for but its end, so the wait for that one
// paces the questions.
bool PostgresServer::come_up() {
  const std::string where = address() + "?connect_timeout=10";
  constexpr int questions_max = 6000;
  for (int asked = 0; asked < questions_max; ++asked) {
    if (await_end(*process_, std::chrono::milliseconds(10))) {
      process_.reset();
      return false;
    }
    if (PQping(where.c_str()) == PQPING_OK) return true;
  }
  stop(Stop::killed);
  return false;
}

void PostgresServer::start() {
  constexpr int ports_max = 5;
  for (int tried = 0; tried < ports_max; ++tried) {
    std::vector<std::string> arguments = {"-D", data_folder()};
    for (const std::string& setting : settings_) arguments.insert(arguments.end(), {"-c", setting});
    arguments.insert(arguments.end(),
                     {"-c", "unix_socket_directories=" + folder(), "-p", std::to_string(port_)});
    process_ = start_postgres_program("postgres", arguments, log_file());
    if (come_up()) return;
    if (!log().contains("Address already in use")) break;
    port_ = free_port();
  }
  throw std::runtime_error("the server does not come up:\n" + log());
}

void PostgresServer::stop(Stop how) {
  const pid_t process = *std::exchange(process_, std::nullopt);
  if (how != Stop::killed) {
    kill(process, how == Stop::fast ? SIGINT : SIGQUIT);
    if (await_end(process, std::chrono::seconds(60))) return;
  }
  kill_with_children(process);
  if (!await_end(process, std::chrono::seconds(60))) {
    throw std::runtime_error("the server does not end:\n" + log());
  }
}

}  // namespace perdure
