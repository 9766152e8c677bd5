// The primary learns of its standby only when that one is there: before, it would wait for it at
// every commit. What the standby is told (by ALTER SYSTEM) stays its own when it is promoted: it
// then waits for nobody.

#include "doubles/postgres_pair.hpp"

#include <string>

#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/postgres_wait.hpp"

namespace perdure {
namespace {

std::string host_and_port(const PostgresServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

}  // namespace

PostgresPair::PostgresPair()
    : primary_({"wal_level=replica"}), standby_({}, PostgresServer::Content::bare) {
  primary_.start();
  run_postgres_program("pg_basebackup",
                       {"--pgdata=" + standby_.data_folder(), "--checkpoint=fast",
                        "--wal-method=stream", "--write-recovery-conf", "--no-sync",
                        "--dbname=host=127.0.0.1 port=" + std::to_string(primary_.port()) +
                            " user=perdure application_name=standby"},
                       standby_.folder() + "/base_backup.log");
  standby_.start();
  PostgresSql primary(primary_.address());
  primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  primary.execute("SELECT pg_reload_conf()");
  wait_for_answer(primary_.address(), "SELECT sync_state FROM pg_stat_replication", "sync");
}

std::string PostgresPair::address() const {
  return "postgres://perdure@" + host_and_port(primary_) + "," + host_and_port(standby_) +
         "/postgres?target_session_attrs=read-write";
}

void PostgresPair::promote() {
  // Not by pg_promote(): what is still to be replayed may conflict with that query, and end it.
  run_postgres_program("pg_ctl", {"promote", "--pgdata=" + standby_.data_folder(), "--wait"},
                       standby_.folder() + "/promote.log");
  wait_for_answer(standby_.address(), "SELECT pg_is_in_recovery()", "f");
}

}  // namespace perdure
