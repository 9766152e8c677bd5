// A server whose write-ahead log is archived, base backups of it, and servers restored from both
// to a moment.

#pragma once

#include <memory>
#include <string>

#include "doubles/postgres_server.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure {

class PostgresArchive {
 public:
  /// Starts the server.
  PostgresArchive();

  [[nodiscard]] PostgresServer& server() { return server_; }

  /// By pg_basebackup, while the server goes on. It is in the data folder of a server that was not
  /// started yet.
  [[nodiscard]] std::unique_ptr<PostgresServer> take_base_backup();
  /// Names this moment. Returns when the archive holds all that is needed to get to it.
  void name_moment(const std::string& name);
  /// Starts the server of a base backup, as it was at that moment (a line of its configuration:
  /// "recovery_target_name = 'then'"), or at the end of the archive. Returns when it takes writes.
  void restore(PostgresServer& backup, const std::string& target = {}) const;

 private:
  TempFolder folder_;
  PostgresServer server_;
};

}  // namespace perdure
