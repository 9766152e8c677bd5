// SQLite's C interface, wrapped once. Its result codes become error codes here, by
// what the caller of a store can do about them.

#include "sqlite/engine/connection.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

Error SqliteError::to_error() const {
  if (is_damage()) {
    return {ErrorCode::corrupted,
            message_ + ": check names what is damaged, salvage saves what can still be read",
            {}};
  }
  switch (code_ & 0xFF) {
    case SQLITE_NOTADB:
      return {ErrorCode::corrupted, message_, {}};
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      return {ErrorCode::invalid_argument, message_, {}};
    case SQLITE_BUSY:
      return {ErrorCode::unavailable,
              message_ + ": another program holds the file; end it, or wait until it is done",
              "store_in_use"};
    default:
      return {ErrorCode::unavailable, message_, {}};
  }
}

SqliteError error_of(sqlite3* db, int code) {
  constexpr std::string_view again =
      "and run the command again; nothing that was committed is lost";
  const char* name = sqlite3_db_filename(db, "main");
  const std::string path = name == nullptr || *name == '\0' ? "the store" : name;
  const int system = sqlite3_system_errno(db);
  const bool is_io = (code & 0xFF) == SQLITE_IOERR;
  // The index of the WAL is made as large as it has to be before it is used.
  if ((code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE || (is_io && system == EDQUOT)) {
    return {code,
            fmt::format("no space left on the disk that holds {}: free some {}", path, again)};
  }
  if (is_io && system == EFBIG) {
    return {code, fmt::format("{} may grow no more: a limit of this process (ulimit -f) or of the "
                              "file system says so. Raise it {}",
                              path, again)};
  }
  std::string words =
      sqlite3_extended_errcode(db) == code ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  if (is_io && system != 0) words += fmt::format(": {}", std::generic_category().message(system));
  return {code, std::move(words)};
}

BlobView blob_view(const Digest& digest) {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}

bool Rows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    if (rows_read_ != nullptr) rows_read_->fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (code == SQLITE_DONE) return false;
  sqlite3* handle = sqlite3_db_handle(statement_);
  throw error_of(handle, sqlite3_extended_errcode(handle));
}

std::int64_t Rows::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::uint64_t Rows::number(int column) const { return static_cast<std::uint64_t>(integer(column)); }

std::string_view Rows::text(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Rows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Digest Rows::digest(int column) const {
  Digest digest{};
  const std::string_view bytes = text(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::optional<Timestamp> Rows::optional_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}

Connection::Connection(const std::string& path, const std::string& vfs, int flags,
                       std::atomic<std::uint64_t>* rows_read)
    : rows_read_(rows_read) {
  sqlite3_vfs* below = sqlite3_vfs_find(vfs.empty() ? nullptr : vfs.c_str());
  if (below == nullptr) throw SqliteError(SQLITE_ERROR, fmt::format("there is no VFS {}", vfs));
  vfs_ = std::make_unique<SummingVfs>(*below);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, vfs_->name().c_str());
  handle_.reset(handle);
  if (code != SQLITE_OK) {
    throw SqliteError(code, fmt::format("cannot open {}: {}", path,
                                        handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code)));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, busy_wait_ms);
}

Connection::~Connection() = default;

sqlite3_stmt* Connection::prepared(std::string_view sql) {
  if (auto found = statements_.find(sql); found != statements_.end()) return found->second.get();
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  // Our own statements fit every store: what they do not find was there once.
  if (code == SQLITE_ERROR) raise(SQLITE_CORRUPT);
  check(code);
  statements_.emplace(std::string(sql), statement);
  return statement;
}

void Connection::finish(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code != SQLITE_DONE && code != SQLITE_ROW) {
    const SqliteError error = error_of(handle_.get(), sqlite3_extended_errcode(handle_.get()));
    sqlite3_reset(statement);
    throw error;
  }
  sqlite3_reset(statement);
}

void Connection::make_room_for_sums() {
  int bytes = sum_bytes;
  check(sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes));
  vfs_->expect_sums();
}

std::size_t Connection::reserved_bytes() const {
  int bytes = -1;  // Asks, and changes nothing.
  check(sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes));
  return static_cast<std::size_t>(bytes);
}

sqlite3_file* Connection::file(int which) const {
  sqlite3_file* found = nullptr;
  sqlite3_file_control(handle_.get(), "main", which, static_cast<void*>(&found));
  return found;
}

int Connection::read_file(int which, void* bytes, std::size_t count, std::int64_t offset) const {
  sqlite3_file* from = file(which);
  if (from == nullptr || from->pMethods == nullptr) return SQLITE_IOERR_READ;
  return from->pMethods->xRead(from, bytes, static_cast<int>(count), offset);
}

void Connection::execute(const std::string& script) {
  check(sqlite3_exec(handle_.get(), script.c_str(), nullptr, nullptr, nullptr));
}

void Connection::raise(int code) const { throw error_of(handle_.get(), code); }

// SQLite's own handle for parts of a value.

BlobReader::BlobReader(Connection& db, std::int64_t number) : db_(db) {
  sqlite3_blob* opened = nullptr;
  const int code = sqlite3_blob_open(db.handle(), "main", "blob", "bytes", number, 0, &opened);
  blob_.reset(opened);
  // What is not a blob any more is as damaged as one that cannot be read.
  if (code == SQLITE_ERROR) throw SqliteError(SQLITE_CORRUPT, sqlite3_errmsg(db.handle()));
  if (code != SQLITE_OK) throw error_of(db.handle(), code);
}

std::uint64_t BlobReader::size() const {
  return static_cast<std::uint64_t>(sqlite3_blob_bytes(blob_.get()));
}

std::string BlobReader::read(std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  const int code = sqlite3_blob_read(blob_.get(), bytes.data(), static_cast<int>(count),
                                     static_cast<int>(offset));
  if (code != SQLITE_OK) throw error_of(db_.handle(), code);
  return bytes;
}

}  // namespace perdure::sqlite
