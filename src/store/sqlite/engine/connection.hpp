// One SQLite connection and its prepared statements.
//
// Inside this backend a failing SQLite call throws SqliteError; it is caught where
// the backend ends, in Writer and Readers, and becomes an Error there. Nothing
// else in Perdure sees it. A connection belongs to one thread at a time.

#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

/// For programs other than Perdure: processes of Perdure wait their turn before they touch the file.
inline constexpr int busy_wait_ms = 10'000;

class SqliteError : public std::exception {
 public:
  SqliteError(int code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] bool is_failed_sync() const {
    return code_ == SQLITE_IOERR_FSYNC || code_ == SQLITE_IOERR_DIR_FSYNC;
  }
  /// The file is not what SQLite wrote; the rest of it may be.
  [[nodiscard]] bool is_damage() const {
    return (code_ & 0xFF) == SQLITE_CORRUPT || code_ == SQLITE_IOERR_SHORT_READ;
  }
  /// As the caller of a store sees it.
  [[nodiscard]] Error to_error() const;

 private:
  int code_;
  std::string message_;
};

/// What `work` returns; empty if what it reads is damaged.
template <class Work>
auto unless_damaged(Work work) -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    return std::nullopt;
  }
}

/// What just failed there, in words for the person who has to fix it.
[[nodiscard]] SqliteError error_of(sqlite3* db, int code);

/// Bytes to be bound as a BLOB instead of TEXT.
struct BlobView {
  std::string_view bytes;
};

[[nodiscard]] BlobView blob_view(const Digest& digest);

/// A statement in use. It must go before the connection does, and is ready for
/// its next use when it goes.
class Rows {
 public:
  explicit Rows(sqlite3_stmt* statement, std::atomic<std::uint64_t>* rows_read)
      : statement_(statement), rows_read_(rows_read) {}
  ~Rows() { sqlite3_reset(statement_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Moves to the next row; false when there is none left.
  bool next();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const;
  /// Valid until the next row.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] Digest digest(int column) const;
  [[nodiscard]] Timestamp time(int column) const { return Timestamp(Duration(integer(column))); }
  [[nodiscard]] std::optional<Timestamp> optional_time(int column) const;

 private:
  sqlite3_stmt* statement_;
  std::atomic<std::uint64_t>* rows_read_;
};

class Connection {
 public:
  /// `rows_read` counts the rows that statements hand out, if it is given; it must outlive this.
  Connection(const std::string& path, const std::string& vfs, int flags,
             std::atomic<std::uint64_t>* rows_read = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs one statement that returns no rows. Text and blobs are not copied.
  template <class... Args>
  void run(std::string_view sql, const Args&... args) {
    sqlite3_stmt* statement = prepared(sql);
    bind_all(statement, SQLITE_STATIC, args...);
    finish(statement);
  }

  using Value = std::variant<std::nullopt_t, std::int64_t, std::string_view, BlobView>;
  /// As `run`, with as many values as there are.
  void run_with(std::string_view sql, std::span<const Value> values) {
    sqlite3_stmt* statement = prepared(sql);
    int index = 0;
    for (const Value& value : values) {
      ++index;
      std::visit([&](const auto& one) { bind(statement, index, one, SQLITE_STATIC); }, value);
    }
    finish(statement);
  }

  /// Starts one statement that returns rows.
  template <class... Args>
  [[nodiscard]] Rows query(std::string_view sql, const Args&... args) {
    sqlite3_stmt* statement = prepared(sql);
    bind_all(statement, SQLITE_TRANSIENT, args...);
    return Rows(statement, rows_read_);
  }

  /// The first column of the first row; empty if there is none, or it is NULL.
  template <class... Args>
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view sql,
                                                         const Args&... args) {
    Rows rows = query(sql, args...);
    if (!rows.next() || rows.is_null(0)) return std::nullopt;
    return rows.integer(0);
  }
  /// The same; 0 if there is none.
  template <class... Args>
  [[nodiscard]] std::uint64_t number(std::string_view sql, const Args&... args) {
    return static_cast<std::uint64_t>(find_integer(sql, args...).value_or(0));
  }
  /// The first column of all rows.
  template <class... Args>
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view sql, const Args&... args) {
    std::vector<std::int64_t> found;
    Rows rows = query(sql, args...);
    while (rows.next()) found.push_back(rows.integer(0));
    return found;
  }

  /// The statement, made ready if it is not: also one that may be needed when nothing can be
  /// prepared any more.
  sqlite3_stmt* prepared(std::string_view sql);
  /// Runs one that returns no rows, with what is bound to it.
  void finish(sqlite3_stmt* statement);

  /// In a file that has no page yet, makes room for sums in all its pages.
  void make_room_for_sums();
  /// How many bytes at the end of each page SQLite leaves alone. In a transaction.
  [[nodiscard]] std::size_t reserved_bytes() const;
  /// From now on pages that do not match their sums, as they are read from the main file, are added
  /// to `wrong`, which must outlive this.
  void note_wrong_pages(std::vector<std::uint32_t>* wrong) { vfs_->note_wrong_pages(wrong); }

  /// The main file (SQLITE_FCNTL_FILE_POINTER), or its WAL (SQLITE_FCNTL_JOURNAL_POINTER).
  [[nodiscard]] sqlite3_file* file(int which) const;
  /// Reads from it, past SQLite, by the descriptor that SQLite has: to close one of ours would
  /// drop the locks that this process has of the file. Returns a result code.
  int read_file(int which, void* bytes, std::size_t count, std::int64_t offset = 0) const;

  /// Runs a script of several statements, unprepared.
  void execute(const std::string& script);

  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  [[nodiscard]] std::int64_t last_rowid() const { return sqlite3_last_insert_rowid(handle_.get()); }
  /// False while a transaction is open.
  [[nodiscard]] bool is_idle() const { return sqlite3_get_autocommit(handle_.get()) != 0; }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Destructor = void (*)(void*);

  [[noreturn]] void raise(int code) const;

  template <class... Args>
  void bind_all([[maybe_unused]] sqlite3_stmt* statement, [[maybe_unused]] Destructor keep,
                const Args&... args) const {
    int index = 0;  // NOLINT(misc-const-correctness): constant only where nothing is bound.
    (bind(statement, ++index, args, keep), ...);
  }

  void check(int code) const {
    if (code != SQLITE_OK) raise(code);
  }
  void bind(sqlite3_stmt* statement, int index, std::integral auto value, Destructor) const {
    check(sqlite3_bind_int64(statement, index, static_cast<std::int64_t>(value)));
  }
  void bind(sqlite3_stmt* statement, int index, std::string_view text, Destructor keep) const {
    const char* data = text.empty() ? "" : text.data();
    check(sqlite3_bind_text64(statement, index, data, text.size(), keep, SQLITE_UTF8));
  }
  void bind(sqlite3_stmt* statement, int index, BlobView blob, Destructor keep) const {
    const char* data = blob.bytes.empty() ? "" : blob.bytes.data();
    check(sqlite3_bind_blob64(statement, index, data, blob.bytes.size(), keep));
  }
  void bind(sqlite3_stmt* statement, int index, const Digest& digest, Destructor keep) const {
    bind(statement, index, blob_view(digest), keep);
  }
  /// As its codec wants it.
  void bind(sqlite3_stmt* statement, int index, const Body& body, Destructor keep) const {
    const std::string_view bytes = body.bytes();
    if (body.codec() == Codec::bytes) return bind(statement, index, BlobView{bytes}, keep);
    bind(statement, index, bytes, keep);
  }
  void bind(sqlite3_stmt* statement, int index, Timestamp time, Destructor) const {
    check(sqlite3_bind_int64(statement, index, time.time_since_epoch().count()));
  }
  void bind(sqlite3_stmt* statement, int index, std::nullopt_t, Destructor) const {
    check(sqlite3_bind_null(statement, index));
  }
  template <class T>
  void bind(sqlite3_stmt* statement, int index, const std::optional<T>& value,
            Destructor keep) const {
    if (value) {
      bind(statement, index, *value, keep);
    } else {
      bind(statement, index, std::nullopt, keep);
    }
  }

  std::unique_ptr<SummingVfs> vfs_;
  std::unique_ptr<sqlite3, Closer> handle_;
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalizer>, TextHash,
                     std::equal_to<>>
      statements_;
  std::atomic<std::uint64_t>* rows_read_;
};

class BlobReader {
 public:
  /// The blob in row `number`. It must go before the connection does.
  BlobReader(Connection& db, std::int64_t number);

  [[nodiscard]] std::uint64_t size() const;
  /// Both within the size.
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t count);

 private:
  struct Closer {
    void operator()(sqlite3_blob* blob) const { sqlite3_blob_close(blob); }
  };

  Connection& db_;
  std::unique_ptr<sqlite3_blob, Closer> blob_;
};

}  // namespace perdure::sqlite
