// Backups and what makes a store of one; a first look at files, then what makes a store of them.

#include "sqlite/opening/opening.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/format.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/engine/writer.hpp"
#include "store/api/location.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {

// A log that is empty says nothing, and belongs to no store.

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
// Killed in the middle it leaves its part (part_file.hpp), which does no harm.

namespace {

constexpr int pages_per_slice = 256;

struct BackupCloser {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// False if it was asked to stop.
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
  // The copy is not read until it has its name: what a crash leaves of it is useless.
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
// The original may have continued after the backup was taken, and may still do so. Its
// fences have risen as well: the jump is larger than any number of take-overs, so that
// those who compare fences outside of the store see the restored one as later.

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

// What arrived as a whole may be marked in its source, and is nowhere else then: only that store can
// tell, when the move is repeated. The rest is garbage, and so is what came out of a bundle: no source
// marks that.
void discard_incomplete_arrivals(Connection& db) {
  const FactCursor end{.kind = FactKind::none, .group = 0, .number = 0, .name = {}};
  db.run("DELETE FROM move WHERE side = 1 AND (cursor <> ? OR peer = ?)", rules::to_text(end),
         rules::place_of_bundles);
  constexpr std::string_view is_open = "(SELECT peer FROM move WHERE side = 1)";
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

// A first look.

namespace {

bool is_there(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown) || unknown;
}

bool has_content(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::file_size(path, unknown) > 0 && !unknown;
}

// Its record is written when the store is there, never before.
Result<bool> knows_store(const std::string& lock_path) {
  if (!is_there(lock_path)) return false;
  auto lock_file = LockFile::open(lock_path);
  if (!lock_file) return forward(lock_file);
  return lock_file->read_record().is_sealed();
}

std::unexpected<Error> lost_file(const std::string& path, bool has_wal) {
  std::vector<std::string> left;
  for (const char* end : {"-wal", "-lock"}) {
    if (is_there(path + end)) left.push_back(path + end);
  }
  const bool is_one = left.size() == 1;
  return fail(
      ErrorCode::corrupted,
      fmt::format("{} is {}, but {} {} left of a store that was there. Nothing was "
                  "written. Put the file back, or {}; to start with a new store, remove {}",
                  path, is_there(path) ? "empty" : "gone", fmt::join(left, " and "),
                  is_one ? "is" : "are",
                  has_wal ? fmt::format("save what its log holds: perdure salvage {} NEW", path)
                          : "a backup of it",
                  is_one ? "that" : "both"));
}

// Whether a store was here that has lost its file: one that is empty or gone, beside a WAL that is
// not, or a lock file that knows a store. A new one would take the place of what is left.
Result<void> check_remains(const std::string& path) {
  // The file last: a process that is making the store gives it its first page before all else.
  const bool has_wal = has_content(path + "-wal");
  auto is_known = knows_store(path + "-lock");
  if (!is_known) return forward(is_known);
  if ((!has_wal && !*is_known) || has_content(path)) return {};
  return lost_file(path, has_wal);
}

Result<void> check_place(const SqliteOptions& options) {
  std::error_code unknown;
  const auto folder = std::filesystem::path(options.path).parent_path();
  if (!std::filesystem::is_directory(folder, unknown)) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot open a store at {}: its folder is not there",
                            shown_location(options.path)));
  }
  if (options.open.create || has_content(options.path)) return {};
  return fail(ErrorCode::not_found,
              fmt::format("there is no store at {}", shown_location(options.path)));
}

// Whether the file may be a store of ours, by its header alone. Nothing is said of one that has a
// lock file or a WAL beside it: then it was one, and opening it tells more.
Result<void> check_header(const SqliteOptions& options) {
  constexpr std::size_t kind_at = 100;   // Of the first page, which begins the list of tables.
  constexpr std::size_t count_at = 103;  // How many of them are on it.
  constexpr char leaf = 13;
  const std::string& path = options.path;
  if (is_there(path + "-lock") || is_there(path + "-wal") || !has_content(path)) return {};
  std::array<char, count_at + 2> bytes{};
  const Connection connection(path, options.vfs, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
  const int code = connection.read_file(SQLITE_FCNTL_FILE_POINTER, bytes.data(), bytes.size());
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return {};
  const std::string_view header(bytes.data(), bytes.size());
  if (!is_header(header)) {
    return fail(ErrorCode::corrupted,
                fmt::format("{0} is not a store. If it was one, what is left of it is saved by: "
                            "perdure salvage {0} NEW",
                            path));
  }
  const bool has_tables = header[kind_at] != leaf || big_endian_16(header, count_at) != 0;
  if (!has_tables) return {};
  return check_numbers(static_cast<std::int32_t>(big_endian_32(header, application_at)),
                       static_cast<std::int32_t>(big_endian_32(header, format_at)), options.steps);
}

}  // namespace

Result<void> look_at_files(const SqliteOptions& options) {
  if (auto nothing = check_remains(options.path); !nothing) return nothing;
  if (auto there = check_place(options); !there) return there;
  return check_header(options);
}

// The order is the argument: first whether the files are ours at all, then what a failed sync left,
// then the format, then whether the file is a copy.

namespace {

bool use_wal(Connection& connection) {
  Rows rows = connection.query("PRAGMA journal_mode = WAL");
  return rows.next() && rows.text(0) == "wal";
}

class Opening {
 public:
  Opening(const SqliteOptions& options, const OpeningParts& parts)
      : options_(options), parts_(parts), connection_(parts.connection), writer_(parts.writer) {}

  [[nodiscard]] Result<void> run() {
    // SQLite would open it all the same, and leave a WAL behind that has the file's mode: then
    // the store stays unusable when the file may be written again.
    if (sqlite3_db_readonly(connection_.handle(), "main") == 1) {
      return fail(ErrorCode::unavailable,
                  fmt::format("{} may not be written: look at its permissions", options_.path));
    }
    try {
      return prepare();
    } catch (const SqliteError& error) {
      if (error.is_failed_sync()) writer_.gate().close_for_all();
      // A step to the next format that does not fit the tables: the number was damaged.
      const bool is_misfit = error.code() == SQLITE_ERROR;
      if (is_misfit || error.to_error().code == ErrorCode::corrupted) return open_damaged(error);
      Error failed = error.to_error();
      failed.message = fmt::format("cannot open {}: {}", options_.path, failed.message);
      return std::unexpected(std::move(failed));
    }
  }

  [[nodiscard]] Opened opened() && { return std::move(opened_); }

 private:
  Result<void> prepare() {
    if (auto own = check_wal_is_ours(); !own) return own;
    // The kernel may have dropped what it could not write. The index of the WAL, which others
    // keep alive, still names it, and only rebuilding it checks sums.
    if (has_failed_sync()) forget_wal_index(connection_);
    connection_.execute("PRAGMA cache_size = -16000;");
    // Savepoints keep what they may have to undo in memory, not in a file.
    connection_.execute("PRAGMA temp_store = MEMORY;");
    if (auto checked = check_format(connection_, options_.steps); !checked) return checked;
    set_file_layout(connection_);
    if (!use_wal(connection_)) {
      return fail(ErrorCode::unavailable,
                  fmt::format("{} cannot use a write-ahead log: is it on a network file system?",
                              options_.path));
    }
    // Before anything is written: what is gone would be written over.
    look_for_loss();
    if (has_failed_sync()) recover_from_failed_sync();
    const auto index = read_wal_index(connection_);
    connection_.run("BEGIN IMMEDIATE");
    migrate(connection_, *options_.open.ids, options_.steps);
    restore_if_backup(connection_, *options_.open.ids);
    if (opened_.lost_at) restore_after_loss(connection_, *options_.open.ids, *opened_.lost_at);
    connection_.run("COMMIT");
    writer_.acknowledged().begin(index);
    read_incarnation_if_there(connection_);
    // Also without memory a transaction must be undone, or it keeps all others from writing.
    connection_.prepared("ROLLBACK");
    writer_.gate().open();
    return {};
  }

  // The header of a store in use says that it has a WAL, that of a backup that it has none. SQLite
  // would read any WAL beside the file, and mix two stores.
  Result<void> check_wal_is_ours() {
    constexpr std::size_t version_at = 18;
    constexpr char without_wal = 1;
    constexpr char with_wal = 2;
    std::array<char, version_at + 1> header{};
    const int code = connection_.read_file(SQLITE_FCNTL_FILE_POINTER, header.data(), header.size());
    const char version = code == SQLITE_OK ? header[version_at] : '\0';
    had_wal_ = version == with_wal;
    if (version != without_wal || !has_content(options_.path + "-wal")) return {};
    return fail(ErrorCode::corrupted,
                fmt::format("{} is a backup, but {}-wal beside it belongs to another store: move "
                            "that away first",
                            options_.path, options_.path));
  }

  [[nodiscard]] bool has_failed_sync() const { return parts_.lock_file.failures().are_open(); }

  void look_for_loss() {
    // What was to be synced later may go with a failed sync.
    const auto needs = has_failed_sync() ? Acknowledged::Needs::synced : Acknowledged::Needs::all;
    if (opened_.lost_at || !had_wal_ || !writer_.acknowledged().are_missing(needs)) return;
    opened_.lost_at = options_.open.clock->now();
  }

  // A store whose counters are damaged can still be read.
  void read_incarnation_if_there(Connection& db) {
    opened_.incarnation = unless_damaged([&] { return read_incarnation(db); }).value_or("");
  }

  // SQLite refuses the file, and every write with it; reading may still be possible.
  Result<void> open_damaged(const SqliteError& why) {
    if (!connection_.is_idle()) {
      sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
    opened_.is_damaged = true;
    // The damage may be a checkpoint cut off half-way, whose WAL is gone.
    look_for_loss();
    parts_.readers.tolerate_damage();
    auto readable = parts_.readers.read([&](Connection& db) -> Result<void> {
      if (auto checked = check_format(db, options_.steps); !checked) return checked;
      require_tables(db);
      read_incarnation_if_there(db);
      return {};
    });
    if (!readable) {
      // SQLite's own words may hold the text of a table, over many lines.
      return fail(ErrorCode::corrupted,
                  fmt::format("{0} cannot be read: {1}. If it is a store, what is left of it is "
                              "saved by: perdure salvage {0} NEW",
                              options_.path, sqlite3_errstr(why.code())));
    }
    writer_.gate().open();
    // Also what SQLite would still write: not all was done that opening a store has to do.
    writer_.gate().close_as_damaged(
        fmt::format("{} is damaged and takes no writes: {}. What can be read can be salvaged: "
                    "perdure salvage, or salvage_store().",
                    options_.path, why.what()));
    return {};
  }

  // What is in the WAL may be in memory only. Written to the main file and synced there, with the
  // WAL restarted, it is safe.
  void recover_from_failed_sync() {
    writer_.acknowledged().begin_write_back();
    const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                               SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    writer_.acknowledged().end_write_back(code == SQLITE_OK);
    if (code != SQLITE_OK) throw error_of(connection_.handle(), code);
    auto failures = parts_.lock_file.failures();
    failures.recovered = failures.seen;
    parts_.lock_file.set_failures(failures);
  }

  const SqliteOptions& options_;
  const OpeningParts& parts_;
  Connection& connection_;
  Writer& writer_;
  bool had_wal_ = false;  ///< A file that never had one, or is a backup, cannot lack one.
  Opened opened_;
};

}  // namespace

Result<Opened> make_ready(const SqliteOptions& options, const OpeningParts& parts) {
  auto turn = parts.lock_file.take_turn(options.open.write_wait);
  if (!turn) return forward(turn);
  Opening opening(options, parts);
  auto done = opening.run();
  parts.lock_file.end_turn();
  if (!done) return forward(done);
  return std::move(opening).opened();
}

}  // namespace perdure::sqlite
