// One snapshot from beginning to end, in the only transaction that this backend opens by itself: on a
// connection of its own, so that what is asked of the store meanwhile does not wait for us. Commits go
// on beside it; only the old versions of their rows cannot be vacuumed before it is over.
//
// The pages of the files are the server's to check (data checksums, pg_amcheck): a page that it cannot
// read is a finding here.

#include "postgres/upkeep/check.hpp"

#include <chrono>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/check_run.hpp"

namespace perdure::postgres {
namespace {

/// Some statements look at whole tables.
constexpr Duration statement_time_max = std::chrono::hours(24);
constexpr std::int64_t sessions_at_once = 1000;

bool is_damage(const PgError& error) { return error.sqlstate().starts_with("XX"); }

std::uint64_t count_sessions(Connection& db) {
  Rows rows = db.query("SELECT count(*) FROM perdure.session");
  return rows.next() ? rows.number(0) : 0;
}

std::vector<std::int64_t> next_sessions(Connection& db, std::int64_t after) {
  Rows rows = db.query("SELECT num FROM perdure.session WHERE num > $1 ORDER BY num LIMIT $2",
                       Params::of(after, sessions_at_once));
  std::vector<std::int64_t> numbers;
  while (rows.next()) numbers.push_back(rows.integer(0));
  return numbers;
}

void check_sessions(CheckRun& run) {
  std::vector<std::int64_t> numbers{0};
  do {
    numbers = next_sessions(run.db, numbers.back());
    for (const std::int64_t number : numbers) {
      if (!run.go_on()) return;
      check_session(run, number);
      run.advance();
    }
  } while (!numbers.empty());
}

CheckReport check_snapshot(Connection& db, const Progress& progress) {
  db.set_patience(statement_time_max);
  db.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  db.query(set_check_savepoint);
  CheckRun run(db, progress);
  run.set_total(count_sessions(db) + 1);
  check_sessions(run);
  if (run.go_on()) {
    check_rest(run);
    run.advance();
    static_cast<void>(run.go_on());
  }
  db.query("COMMIT");
  return run.found.finish();
}

}  // namespace

void CheckRun::guard(const std::optional<SessionId>& session, std::string_view what,
                     const std::function<void()>& work) {
  if (is_guarded_) return work();
  is_guarded_ = true;
  try {
    work();
  } catch (const PgError& error) {
    if (!is_damage(error)) throw;
    db.query(undo_to_check_savepoint);
    found.add(Fault::file, session, fmt::format("{} cannot be read: {}", what, error.what()));
  }
  is_guarded_ = false;
}

Result<CheckReport> check_store(const Access& access, const Progress& progress) {
  auto connection = access.client.connect();
  if (!connection) return forward(connection);
  try {
    return check_snapshot(**connection, progress);
  } catch (const PgError& error) {
    return std::unexpected(error.to_error());
  }
}

}  // namespace perdure::postgres
