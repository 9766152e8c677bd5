// The original may have gone on after the backup was taken, and may still do so. Its
// fences went on as well: the jump is larger than any number of take-overs, so that
// whoever compares fences outside of the store sees the restored one as later.

#include "sqlite/opening/restore.hpp"

#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "rules/format.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {
namespace {

std::optional<Timestamp> time_in_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM meta WHERE key = ?", key);
  if (!rows.next()) return std::nullopt;
  return rows.time(0);
}

// What arrived as a whole may be marked in its source, and is nowhere else then: only that store can tell,
// when the move is repeated. The rest is garbage.
void discard_incomplete_arrivals(Connection& db) {
  const FactCursor end{.kind = FactKind::none, .group = 0, .number = 0, .name = {}};
  db.run("DELETE FROM move WHERE side = 1 AND cursor <> ?", rules::to_text(end));
  constexpr std::string_view is_open = "(SELECT peer FROM move WHERE side = 1)";
  db.run(
      fmt::format("DELETE FROM claim WHERE key IN (SELECT origin FROM arrived_segment WHERE peer "
                  "NOT IN {} AND typeof(origin) = 'blob')",
                  is_open));
  db.run(
      fmt::format("DELETE FROM arriving WHERE num NOT IN (SELECT owner FROM transit WHERE side = "
                  "1 AND peer IN {})",
                  is_open));
  db.run(fmt::format("DELETE FROM arrived_segment WHERE peer NOT IN {}", is_open));
  db.run(fmt::format("DELETE FROM transit WHERE peer NOT IN {}", is_open));
}

}  // namespace

void mark_as_backup(Connection& db, Timestamp at) {
  db.run("INSERT OR REPLACE INTO meta VALUES ('backup', ?)", at);
}

void restore_if_backup(Connection& db, IdSource& ids) {
  const auto at = time_in_meta(db, "backup");
  if (!at) return;
  begin_anew(db, ids, fmt::format("restored from a backup of {}", to_iso8601(*at)));
  db.run("DELETE FROM meta WHERE key = 'backup'");
}

void restore_after_loss(Connection& db, IdSource& ids, Timestamp found_at) {
  begin_anew(db, ids, fmt::format("the WAL lost commits before {}", to_iso8601(found_at)));
  db.run("INSERT OR REPLACE INTO meta VALUES ('lost', ?)", found_at);
}

std::optional<Timestamp> find_loss(Connection& db) { return time_in_meta(db, "lost"); }

void begin_anew(Connection& db, IdSource& ids, std::string_view reason) {
  db.run("UPDATE meta SET value = ? WHERE key = 'incarnation'", mint<rules::StoreTag>(ids).text());
  db.run("DELETE FROM worker");
  db.run("UPDATE session SET moved = NULL WHERE moved LIKE 'moving %'");
  discard_incomplete_arrivals(db);
  db.run("UPDATE resource SET worker = NULL, fence = fence + ?", rules::fence_jump);
  db.run("UPDATE session SET owner = NULL, owned_since = NULL");
  // They were posted to the store of before, which may have acted on them.
  db.run(
      "UPDATE message SET kind = 'void_' || kind "
      "WHERE consumed = 0 AND kind IN ('approve', 'resolve', 'ended_worker')");
  for (const std::string_view table : {"session", "arriving"}) {
    db.run(
        fmt::format("UPDATE {} SET fence = fence + ?, revision = revision + 1, restored = status "
                    "IN ('active', 'waiting', 'paused')",
                    table),
        rules::fence_jump);
    db.run(fmt::format("UPDATE {} SET status = 'paused', wake_at = NULL, wait_reason = ? WHERE "
                       "status IN ('active', 'waiting')",
                       table),
           reason);
  }
}

}  // namespace perdure::sqlite
