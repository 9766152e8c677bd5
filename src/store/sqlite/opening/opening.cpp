// From the files to a store that can be used, and the first look at what is there.

#include "sqlite/opening/opening.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "sqlite/engine/acknowledged.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/opening/restore.hpp"
#include "store/api/location.hpp"

namespace perdure::sqlite {

// The order is the argument: first whether the files are ours at all, then what a failed sync left,
// then the format, then whether the file is a copy.

namespace {

bool use_wal(Connection& connection) {
  Rows rows = connection.query("PRAGMA journal_mode = WAL");
  return rows.next() && rows.text(0) == "wal";
}

}  // namespace

Result<void> check_place(const SqliteOptions& options) {
  std::error_code unknown;
  const auto folder = std::filesystem::path(options.path).parent_path();
  if (!std::filesystem::is_directory(folder, unknown)) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot open a store at {}: its folder is not there",
                            shown_location(options.path)));
  }
  if (options.open.create) return {};
  const auto size = std::filesystem::file_size(options.path, unknown);
  if (!unknown && size > 0) return {};
  return fail(ErrorCode::not_found,
              fmt::format("there is no store at {}", shown_location(options.path)));
}

Result<std::string> Opening::run() {
  auto turn = lock_file_.take_turn(options_.open.write_wait);
  if (!turn) return forward(turn);
  auto prepared = prepare_in_turn();
  lock_file_.end_turn();
  if (!prepared) return forward(prepared);
  return std::move(incarnation_);
}

Result<void> Opening::prepare_in_turn() {
  // SQLite would open it all the same, and leave a WAL behind that has the file's mode: then
  // the store stays unusable when the file may be written again.
  if (sqlite3_db_readonly(connection_.handle(), "main") == 1) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} may not be written: look at its permissions", options_.path));
  }
  try {
    if (auto own = check_wal_is_ours(); !own) return own;
    // The kernel may have dropped what it could not write. The index of the WAL, which others
    // keep alive, still names it, and only building it anew checks sums.
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
    if (lost_at_) restore_after_loss(connection_, *options_.open.ids, *lost_at_);
    connection_.run("COMMIT");
    lock_file_.touch();
    acknowledged_.begin(index);
    read_incarnation_if_there(connection_);
    // Also without memory a transaction must be undone, or it keeps all others from writing.
    connection_.prepare("ROLLBACK");
    gate_.open();
    return {};
  } catch (const SqliteError& error) {
    if (error.is_failed_sync()) gate_.close_for_all();
    // A step to the next format that does not fit the tables: the number was damaged.
    const bool is_misfit = error.code() == SQLITE_ERROR;
    if (is_misfit || error.to_error().code == ErrorCode::corrupted) return open_damaged(error);
    Error failed = error.to_error();
    failed.message = fmt::format("cannot open {}: {}", options_.path, failed.message);
    return std::unexpected(std::move(failed));
  }
}

// The header of a store in use says that it has a WAL, that of a backup that it has none. SQLite
// would read any WAL that lies beside the file, and mix two stores.
Result<void> Opening::check_wal_is_ours() {
  std::array<unsigned char, 20> header{};
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection_.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  const int code = file->pMethods->xRead(file, header.data(), header.size(), 0);
  std::error_code none;
  const auto wal_bytes = std::filesystem::file_size(options_.path + "-wal", none);
  constexpr unsigned char without_wal = 1;
  constexpr unsigned char with_wal = 2;
  had_wal_ = code == SQLITE_OK && header[18] == with_wal;
  if (code != SQLITE_OK || header[18] != without_wal || none || wal_bytes == 0) return {};
  return fail(
      ErrorCode::corrupted,
      fmt::format("{} is a backup, but {}-wal beside it belongs to another store: move that "
                  "away first",
                  options_.path, options_.path));
}

void Opening::look_for_loss() {
  if (lost_at_ || !had_wal_ || !acknowledged_.are_missing(needs())) return;
  lost_at_ = options_.open.clock->now();
}

// A store whose counters are damaged can still be read.
void Opening::read_incarnation_if_there(Connection& db) {
  try {
    incarnation_ = read_incarnation(db);
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
  }
}

// SQLite refuses the file, and every write with it; reading may still be possible.
Result<void> Opening::open_damaged(const SqliteError& why) {
  if (!connection_.is_idle()) {
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  is_damaged_ = true;
  // The damage may be a checkpoint cut off half-way, whose WAL is gone.
  look_for_loss();
  readers_.tolerate_damage();
  auto readable = readers_.read([&](Connection& db) -> Result<void> {
    if (auto checked = check_format(db, options_.steps); !checked) return checked;
    require_tables(db);
    read_incarnation_if_there(db);
    return {};
  });
  if (readable) {
    gate_.open();
    // Also what SQLite would still write: not all was done that opening a store has to do.
    gate_.close_as_damaged(
        fmt::format("{} is damaged and takes no writes: {}. What can be read can be salvaged: "
                    "perdure salvage, or salvage_store().",
                    options_.path, why.what()));
    return {};
  }
  // SQLite's own words may hold the text of a table, over many lines.
  return fail(ErrorCode::corrupted,
              fmt::format("{0} cannot be read: {1}. If it is a store, what is left of it is saved "
                          "by: perdure salvage {0} NEW",
                          options_.path, sqlite3_errstr(why.code())));
}

// What lies in the WAL may be in memory only. Written to the main file and synced there, with the
// WAL begun anew, it is safe.
void Opening::recover_from_failed_sync() {
  acknowledged_.begin_write_back();
  const int code = sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  acknowledged_.end_write_back(code == SQLITE_OK);
  if (code != SQLITE_OK) throw error_of(connection_.handle(), code);
  auto failures = lock_file_.failures();
  failures.recovered = failures.seen;
  lock_file_.set_failures(failures);
}

// Read by SQLite's own descriptor: to close one of ours would drop the locks that this process may have
// of the file.

namespace {

using namespace std::string_view_literals;

constexpr std::string_view header_magic = "SQLite format 3\0"sv;
constexpr std::size_t kind_at = 100;   ///< Of the first page, which begins the list of tables.
constexpr std::size_t count_at = 103;  ///< How many of them are on it.
constexpr unsigned char leaf = 13;

using Header = std::array<unsigned char, count_at + 2>;

bool is_there(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown) || unknown;
}

bool has_content(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::file_size(path, unknown) > 0 && !unknown;
}

int read(const SqliteOptions& options, Header& header) {
  std::atomic<std::uint64_t> rows_read = 0;
  const Connection connection(options.path, options.vfs, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                              &rows_read);
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  return file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
}

std::int64_t number(const Header& header, std::size_t at) {
  std::uint32_t made = 0;
  for (std::size_t i = at; i < at + 4; ++i) made = made << 8U | header.at(i);
  return static_cast<std::int32_t>(made);
}

bool has_tables(const Header& header) {
  return header.at(kind_at) != leaf || header.at(count_at) != 0 || header.at(count_at + 1) != 0;
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
                  "written. Put the file back, or {}; to begin anew, remove {}",
                  path, is_there(path) ? "empty" : "gone", fmt::join(left, " and "),
                  is_one ? "is" : "are",
                  has_wal ? fmt::format("save what its log holds: perdure salvage {} NEW", path)
                          : "a backup of it",
                  is_one ? "that" : "both"));
}

}  // namespace

Result<void> look_for_remains(const SqliteOptions& options) {
  const std::string& path = options.path;
  // The file last: whoever makes the store just now gives it its first page before all else.
  const bool has_wal = has_content(path + "-wal");
  auto is_known = knows_store(path + "-lock");
  if (!is_known) return forward(is_known);
  if ((!has_wal && !*is_known) || has_content(path)) return {};
  return lost_file(path, has_wal);
}

Result<void> look_at_header(const SqliteOptions& options) {
  const std::string& path = options.path;
  if (is_there(path + "-lock") || is_there(path + "-wal") || !has_content(path)) return {};
  Header header{};
  const int code = read(options, header);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return {};
  if (std::string_view(reinterpret_cast<const char*>(header.data()), header_magic.size()) !=
      header_magic) {
    return fail(ErrorCode::corrupted,
                fmt::format("{0} is not a store. If it was one, what is left of it is saved by: "
                            "perdure salvage {0} NEW",
                            path));
  }
  if (!has_tables(header)) return {};
  return check_numbers(number(header, application_at), number(header, format_at), options.steps);
}

}  // namespace perdure::sqlite
