// A restored server must not add to the archive it comes from: it archives nothing.

#include "doubles/postgres_archive.hpp"

#include <fstream>
#include <ios>
#include <memory>
#include <string>

#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/postgres_wait.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure {
namespace {

PostgresServer::Settings archiving_to(const TempFolder& folder) {
  give_to_postgres(folder.path().string());
  return {"wal_level=replica", "archive_mode=on",
          "archive_command=test ! -f " + folder.file("%f") + " && cp %p " + folder.file("%f")};
}

}  // namespace

PostgresArchive::PostgresArchive() : server_(archiving_to(folder_)) { server_.start(); }

std::unique_ptr<PostgresServer> PostgresArchive::take_base_backup() {
  auto backup =
      std::make_unique<PostgresServer>(PostgresServer::Settings{}, PostgresServer::Content::bare);
  run_postgres_program(
      "pg_basebackup",
      {"--pgdata=" + backup->data_folder(), "--checkpoint=fast", "--wal-method=none", "--no-sync",
       "--host=127.0.0.1", "--port=" + std::to_string(server_.port()), "--username=perdure"},
      backup->folder() + "/base_backup.log");
  return backup;
}

void PostgresArchive::name_moment(const std::string& name) {
  PostgresSql server(server_.address());
  server.execute("SELECT pg_create_restore_point('" + name + "')");
  const std::string file = server.one("SELECT pg_walfile_name(pg_switch_wal())");
  wait_for_answer(server_.address(),
                  "SELECT last_archived_wal >= '" + file + "' FROM pg_stat_archiver", "t");
}

void PostgresArchive::restore(PostgresServer& backup, const std::string& target) const {
  std::ofstream(backup.data_folder() + "/postgresql.auto.conf", std::ios::app)
      << "restore_command = 'cp " << folder_.file("%f") << " %p'\n"
      << "recovery_target_action = 'promote'\n"
      << target << '\n';
  std::ofstream(backup.data_folder() + "/recovery.signal").flush();
  backup.start();
  wait_for_answer(backup.address(), "SELECT pg_is_in_recovery()", "f");
}

}  // namespace perdure
