// The real PgBouncer in transaction mode, in front of a server of this machine: each transaction may
// get another of a few connections, and nothing that belongs to a connection can be relied on.

#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "doubles/temp_folder.hpp"

namespace perdure {

class PgBouncer {
 public:
  /// `connections`: how many the server sees for all clients together. Returns when it takes clients.
  /// Throws, with its log, if it does not.
  explicit PgBouncer(int server_port, int connections = 3);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// postgres://user@127.0.0.1:port/database, without any option.
  [[nodiscard]] std::string address() const;
  /// What it wrote to its log.
  [[nodiscard]] std::string log() const;

 private:
  void start(int server_port, int connections);
  [[nodiscard]] bool come_up();

  TempFolder folder_;
  int port_;
  pid_t process_;
};

}  // namespace perdure
