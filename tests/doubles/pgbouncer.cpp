// It is told nothing that a cautious administrator would not tell it: it ignores no startup parameter
// but the usual one, and does not track prepared statements.

#include "doubles/pgbouncer.hpp"

#include <chrono>
#include <fstream>
#include <libpq-fe.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <stdexcept>
#include <string>

#include "doubles/free_port.hpp"
#include "doubles/postgres_programs.hpp"

namespace perdure {

PgBouncer::PgBouncer(int server_port, int connections) : port_(free_port()), process_(-1) {
  give_to_postgres(folder_.path().string());
  std::ofstream(folder_.file("users")) << "\"perdure\" \"\"\n";
  constexpr int ports_max = 5;
  for (int tried = 0; tried < ports_max; ++tried) {
    start(server_port, connections);
    if (come_up()) return;
    port_ = free_port();
  }
  throw std::runtime_error("PgBouncer does not come up:\n" + log());
}

void PgBouncer::start(int server_port, int connections) {
  std::ofstream(folder_.file("pgbouncer.ini"))
      << "[databases]\n* = host=127.0.0.1 port=" << server_port << "\n"
      << "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_ << "\n"
      << "unix_socket_dir =\nauth_type = trust\nauth_file = " << folder_.file("users") << "\n"
      << "pool_mode = transaction\ndefault_pool_size = " << connections << "\n"
      << "ignore_startup_parameters = extra_float_digits\n";
  process_ = start_postgres_program(PERDURE_PGBOUNCER, {folder_.file("pgbouncer.ini")},
                                    folder_.file("log"));
}

PgBouncer::~PgBouncer() {
  if (process_ < 0) return;
  kill(process_, SIGTERM);  // At once; SIGINT would wait for its clients.
  if (await_end(process_, std::chrono::minutes(5))) return;
  kill(process_, SIGKILL);
  (void)await_end(process_, std::chrono::minutes(5));
}

std::string PgBouncer::address() const {
  return "postgres://perdure@127.0.0.1:" + std::to_string(port_) + "/postgres";
}

std::string PgBouncer::log() const { return text_of_file(folder_.file("log")); }

// The wait for its end paces the questions.
bool PgBouncer::come_up() {
  const std::string where = address() + "?connect_timeout=10";
  constexpr int questions_max = 3000;
  for (int asked = 0; asked < questions_max; ++asked) {
    if (await_end(process_, std::chrono::milliseconds(10))) {
      process_ = -1;
      return false;
    }
    if (PQping(where.c_str()) == PQPING_OK) return true;
  }
  return false;
}

}  // namespace perdure
