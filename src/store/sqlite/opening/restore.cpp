// The original may have gone on after the backup was taken, and may still do so. Its
// fences went on as well: the jump is larger than any number of take-overs, so that
// whoever compares fences outside of the store sees the restored one as later.

#include "sqlite/opening/restore.hpp"

#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "rules/incarnation.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {
namespace {

std::optional<Timestamp> time_in_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM meta WHERE key = ?", key);
  if (!rows.next()) return std::nullopt;
  return rows.time(0);
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
  // The other store knows the moves of another incarnation. What arrived of them is garbage.
  db.run("UPDATE session SET moved = NULL WHERE moved LIKE 'moving %'");
  for (const std::string_view table : {"move", "transit", "arriving", "arrived_segment"}) {
    db.run(fmt::format("DELETE FROM {}", table));
  }
  db.run("UPDATE resource SET worker = NULL, fence = fence + ?", rules::fence_jump);
  db.run(
      "UPDATE session SET owner = NULL, owned_since = NULL, fence = fence + ?, "
      "revision = revision + 1, restored = status IN ('active', 'waiting', 'paused')",
      rules::fence_jump);
  // They were posted to the store of before, which may have acted on them.
  db.run(
      "UPDATE message SET kind = 'void_' || kind "
      "WHERE consumed = 0 AND kind IN ('approve', 'resolve', 'ended_worker')");
  db.run(
      "UPDATE session SET status = 'paused', wake_at = NULL, wait_reason = ? "
      "WHERE status IN ('active', 'waiting')",
      reason);
}

}  // namespace perdure::sqlite
