// A primary and its synchronous standby: what is acknowledged by the one is on the disk of both.

#pragma once

#include <string>

#include "doubles/postgres_server.hpp"

namespace perdure {

class PostgresPair {
 public:
  /// Starts both. Returns when the standby is a synchronous one. Throws if it does not become one.
  PostgresPair();

  [[nodiscard]] PostgresServer& primary() { return primary_; }
  [[nodiscard]] PostgresServer& standby() { return standby_; }
  /// postgres://user@host:port,host:port/database?target_session_attrs=read-write: whichever of them
  /// may be written to.
  [[nodiscard]] std::string address() const;

  /// SIGKILL to its main process and all others of it.
  void kill_primary() { primary_.stop(PostgresServer::Stop::killed); }
  /// Returns when the standby takes writes.
  void promote();

 private:
  PostgresServer primary_;
  PostgresServer standby_;
};

}  // namespace perdure
