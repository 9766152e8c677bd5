// The place of a new file, the backup that is written there, and what makes a store of it.

#include "sqlite/opening/backup.hpp"

#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/format.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {

// A log that is empty says nothing, and is nobody's.

Result<void> check_new_place(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown)) {
    return fail(ErrorCode::already_exists, fmt::format("there is a file {} already", path));
  }
  for (const char* end : {"-wal", "-journal"}) {
    const std::string log = path + end;
    const auto bytes = std::filesystem::file_size(log, unknown);
    if (unknown || bytes == 0) continue;
    return fail(ErrorCode::already_exists,
                fmt::format("there is a file {} already, which belongs to another store: move it "
                            "away first, or choose another name",
                            log));
  }
  return {};
}

// SQLite copies page by page. The source is read under one open transaction: without
// it, every commit in between would make the copy begin again. Each slice is synced at
// once, so that the disk never has much of it to write while a commit waits for its
// own sync.
//
// Killed in the middle it leaves its part (part_file.hpp), which is in nobody's way.

namespace {

constexpr int pages_per_slice = 256;

struct BackupCloser {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// False if it was told to stop.
Result<bool> copy(Connection& from, Connection& to, const PartFile& part,
                  const Progress& progress) {
  const std::unique_ptr<sqlite3_backup, BackupCloser> backup(
      sqlite3_backup_init(to.handle(), "main", from.handle(), "main"));
  if (!backup) throw error_of(to.handle(), sqlite3_errcode(to.handle()));
  while (true) {
    const int code = sqlite3_backup_step(backup.get(), pages_per_slice);
    if (code != SQLITE_OK && code != SQLITE_DONE) throw error_of(to.handle(), code);
    if (auto synced = part.sync(); !synced) return forward(synced);
    const auto total = static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup.get()));
    const auto left = static_cast<std::uint64_t>(sqlite3_backup_remaining(backup.get()));
    if (progress && !progress({.done = total - left, .total = total})) return false;
    if (code == SQLITE_DONE) return true;
  }
}

// Half of a page that the disk gave for a whole one would be copied too, zeros for the rest of it.
Result<void> check_read(Connection& from, const std::vector<std::uint32_t>& wrong) {
  PageReader pages(from);
  for (const std::uint32_t page : wrong) {
    if (pages.was_never_written(page)) continue;
    return fail(ErrorCode::corrupted,
                fmt::format("page {} of the store does not match its sum: no backup was made. Run "
                            "a check; what can be read of a damaged store can be salvaged.",
                            page));
  }
  return {};
}

Result<bool> copy_to(const Access& access, const PartFile& part, const Progress& progress) {
  std::vector<std::uint32_t> wrong;
  const auto from = access.readers.open();
  Connection to(part.path(), {}, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX);
  // Until it has its name nobody reads the copy: what a crash leaves of it is thrown away.
  to.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;");
  from->note_wrong_pages(&wrong);  // Before anything is read.
  from->run("BEGIN");
  const Timestamp at = access.clock.now();
  from->run("SELECT count(*) FROM meta");
  if (from->reserved_bytes() == sum_bytes) to.make_room_for_sums();
  auto copied = copy(*from, to, part, progress);
  from->note_wrong_pages(nullptr);
  if (!copied || !*copied) return copied;
  if (auto checked = check_read(*from, wrong); !checked) return forward(checked);
  to.execute("PRAGMA journal_mode = DELETE;");
  to.run("INSERT OR REPLACE INTO meta VALUES ('backup', ?)", at);
  return true;
}

}  // namespace

Result<void> write_backup(const Access& access, const std::string& path, const Progress& progress) {
  if (auto is_free = check_new_place(path); !is_free) return is_free;
  auto part = PartFile::open_for(path);
  if (!part) return forward(part);
  try {
    auto copied = copy_to(access, *part, progress);
    if (!copied) return forward(copied);
    if (!*copied) return fail(ErrorCode::unavailable, "the backup was told to stop");
  } catch (const SqliteError& error) {
    return std::unexpected(error.to_error());
  }
  return part->give_name(path);
}

// What makes a store of a copy.
//
// The original may have gone on after the backup was taken, and may still do so. Its
// fences went on as well: the jump is larger than any number of take-overs, so that
// whoever compares fences outside of the store sees the restored one as later.

namespace {

std::optional<Timestamp> time_in_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM meta WHERE key = ?", key);
  if (!rows.next()) return std::nullopt;
  return rows.time(0);
}

}  // namespace

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

namespace {

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
