// One connection per process for schemas and questions; it is the only one here that stays open.

#include "doubles/postgres_cluster.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <libpq-fe.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "doubles/postgres_note.hpp"

namespace perdure {
namespace {

struct Clears {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultOwner = std::unique_ptr<PGresult, Clears>;

ResultOwner run(PGconn* connection, const std::string& sql) {
  ResultOwner result(PQexec(connection, sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    throw std::runtime_error(std::string(PQerrorMessage(connection)) + "in: " + sql);
  }
  return result;
}

// Starts a server that ends with this process.
std::string start_own() {
  const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string command = "'" + (programs / "postgres_cluster").string() +
                              "' --detach --watch " + std::to_string(getpid());
  FILE* const output = popen(command.c_str(), "re");
  std::string heard;
  std::array<char, 256> chunk{};
  while (output != nullptr && std::fgets(chunk.data(), chunk.size(), output) != nullptr) {
    heard += chunk.data();
  }
  const bool good = output != nullptr && pclose(output) == 0 && heard.ends_with('\n');
  if (!good) throw std::runtime_error("there is no PostgreSQL server: " + command);
  heard.pop_back();
  return heard;
}

}  // namespace

void PostgresSql::Closes::operator()(pg_conn* connection) const { PQfinish(connection); }

PostgresSql::PostgresSql(const std::string& address) : connection_(PQconnectdb(address.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  // Notices of what a cascade drops are no news.
  (void)run(connection_.get(), "SET client_min_messages = warning");
}

void PostgresSql::execute(const std::string& sql) {
  const std::scoped_lock lock(mutex_);
  (void)run(connection_.get(), sql);
}

std::string PostgresSql::one(const std::string& sql) {
  const std::scoped_lock lock(mutex_);
  const ResultOwner result = run(connection_.get(), sql);
  return PQntuples(result.get()) == 0 ? "" : PQgetvalue(result.get(), 0, 0);
}

PostgresCluster& cluster() {
  static PostgresCluster shared([] {
    const auto kept = PostgresNote::find();
    return kept ? *kept : start_own();
  }());
  return shared;
}

PostgresSchema::PostgresSchema()
    : name_("t_" + cluster().one("SELECT substr(md5(gen_random_uuid()::text), 1, 12)")) {}

// A store that is still open could hold it for ever; then it goes with the server.
PostgresSchema::~PostgresSchema() {
  try {
    cluster().execute("SET lock_timeout = '5min'; DROP SCHEMA IF EXISTS " + name_ + " CASCADE");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "schema %s stays: %s\n", name_.c_str(), problem.what());
  }
}

bool PostgresSchema::exists() const {
  return !cluster().one("SELECT 1 FROM pg_namespace WHERE nspname = '" + name_ + "'").empty();
}

void PostgresSchema::wait_until_left() const {
  // A function of the server that waits: there is no event to wait for.
  cluster().execute(
      "DO $$ BEGIN FOR i IN 1..30000 LOOP PERFORM pg_stat_clear_snapshot(); IF NOT "
      "EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = '" +
      name_ +
      "') THEN RETURN; END IF; PERFORM pg_sleep(0.001); END LOOP; "
      "RAISE 'somebody is still connected'; END $$");
}

std::string PostgresSchema::location(const std::string& options) const {
  // By its name the server's list of connections tells who came by this location.
  return cluster().address() + "?schema=" + name_ + "&application_name=" + name_ +
         (options.empty() ? "" : "&" + options);
}

}  // namespace perdure
