// Columns are read by number, in the order of the select texts beside each reader.

#include "sqlite/engine/rows.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/moves.hpp"
#include "rules/stored_rows.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {

std::optional<Holder> read_holder(const Rows& rows, int column, const Workers& workers) {
  if (rows.is_null(column)) return std::nullopt;
  const WorkerRow row{.number = rows.integer(column),
                      .boot = rows.string(column + 4),
                      .until = Uptime(rows.integer(column + 5))};
  return Holder{.worker = stored_id<WorkerId>(rows.text(column + 1)),
                .host = rows.string(column + 2),
                .pid = rows.integer(column + 3),
                .since = rows.time(column + 7),
                .fence = rows.number(column + 6),
                .alive = workers.is_alive(row),
                .gone = !workers.has_process(row)};
}

SessionSummary read_session(const Rows& rows, const Workers& workers) {
  SessionSummary session = rules::read_summary(rows);
  session.holder = read_holder(rows, 24, workers);
  session.moved_to = rules::moved_from(rows.text(32)).to.place;
  return session;
}

Entry read_entry(const Rows& rows) {
  const auto key = rows.number(0);
  Entry entry{.position = key & 0xFFFF'FFFFU,
              .segment = key >> 32U,
              .channel = rows.string(1),
              .kind = rows.string(2),
              .fold = rows.integer(3) == 1 ? Fold::replace : Fold::append,
              .hash = rows.digest(11),
              .tally = read_tally(rows, 6),
              .at = rows.time(5)};
  rules::set_body(entry, rows.integer(4),
                  rows.is_null(12) ? std::nullopt : std::optional(rows.string(12)));
  return entry;
}

Call read_listed_call(const Rows& rows) {
  if (rows.is_null(0)) {
    throw SqliteError(SQLITE_CORRUPT, "the row of the session of a call is missing");
  }
  return read_call(rows);
}

std::optional<std::int64_t> find_blob(Connection& db, const BlobRef& ref) {
  return db.find_integer("SELECT num FROM blob WHERE hash = ? AND size = ?", ref.digest, ref.size);
}

Result<void> require_blob(Connection& db, const Body& body) {
  const auto ref = body.blob();
  if (!ref || find_blob(db, *ref)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("blob {} was not put before it was named", to_hex(ref->digest)));
}

std::int64_t next_number(Connection& db, std::string_view counter) {
  Rows rows = db.query("UPDATE meta SET value = value + 1 WHERE key = ? RETURNING value", counter);
  if (!rows.next()) throw SqliteError(SQLITE_CORRUPT, "a counter of the store is missing");
  const std::int64_t number = rows.integer(0);
  rows.next();
  return number;
}

std::string sql(std::string_view select, std::string_view tail) {
  return std::string(select).append(tail);
}

}  // namespace perdure::sqlite
