// A salvage: rows as they are found become a new file.
//
// The original is only ever read, byte by byte: SQLite itself would write to the files
// beside it as soon as it opened them.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "rules/format.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/opening/backup.hpp"
#include "sqlite/salvage/page_source.hpp"
#include "sqlite/salvage/repair.hpp"
#include "sqlite/salvage/row_finder.hpp"
#include "store/api/location.hpp"

namespace perdure {
namespace sqlite {
namespace {

constexpr const char* found_beside = R"sql(
CREATE TEMP TABLE old_meta (key TEXT PRIMARY KEY, value);
CREATE TEMP TABLE session_id (id TEXT, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE doubtful (session INTEGER PRIMARY KEY);
CREATE TEMP TABLE blob_hash (hash BLOB, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE message_id (session INTEGER, id TEXT, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE call_key (key BLOB, session INTEGER, position INTEGER, PRIMARY KEY (session, position));
CREATE TEMP TABLE call_state (state TEXT, session INTEGER, position INTEGER, PRIMARY KEY (session, position));
CREATE TEMP TABLE entry_channel (channel TEXT, id INTEGER, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE checkpoint_label (session INTEGER, label TEXT, version INTEGER, PRIMARY KEY (session, version));
CREATE TEMP TABLE doubtful_row (name TEXT, a INTEGER, b INTEGER, PRIMARY KEY (name, a, b));
CREATE TEMP TABLE segment_own (session INTEGER, first INTEGER, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE segment_above (parent INTEGER, parent_position INTEGER, num INTEGER PRIMARY KEY);
)sql";

// Tables of which rows of an earlier moment are kept aside: in none of them can such a row undo
// what was done since. A message, for one, may have been consumed.
constexpr std::array earlier_tables = {"session", "entry", "receipt", "checkpoint", "call"};

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return sqlite3_bind_null(statement, index);
    case Value::Kind::integer:
      return sqlite3_bind_int64(statement, index, value.integer);
    case Value::Kind::real:
      return sqlite3_bind_double(statement, index, value.real);
    case Value::Kind::text:
      return sqlite3_bind_text64(statement, index, value.bytes.data(), value.bytes.size(),
                                 SQLITE_STATIC, SQLITE_UTF8);
    case Value::Kind::blob:
      break;
  }
  return sqlite3_bind_blob64(statement, index, value.bytes.data(), value.bytes.size(),
                             SQLITE_STATIC);
}

// The new file that a salvage writes: rows as they are found, then what is missing between them.
// While it is filled the file needs no journal: if anything goes wrong it is thrown away.
class SalvagedFile {
 public:
  /// Makes an empty store there. Nothing of it is safe before finish().
  SalvagedFile(const std::string& path, IdSource& ids)
      : db_(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read_) {
    db_.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -64000;");
    set_file_layout(db_);
    db_.execute("PRAGMA journal_mode = OFF;");
    db_.execute(found_beside);
    db_.execute("BEGIN");
    migrate(db_, ids);
    for (const char* table : earlier_tables) {
      db_.execute(fmt::format("CREATE TEMP TABLE earlier_{0} AS SELECT * FROM {0} WHERE 0", table));
    }
    db_.execute("CREATE INDEX temp.earlier_entry_id ON earlier_entry(id)");
  }

  /// Keeps the row, unless one with its key is there already.
  void add(const FoundRow& row) {
    insert(row, std::string(row.shape->into));
    if (row.is_doubtful && row.shape->name == "session") {
      db_.run("INSERT OR IGNORE INTO temp.doubtful VALUES (?)", row.values.front().integer);
    }
    if (row.is_doubtful && row.shape->is_of_a_table()) {
      db_.run("INSERT OR IGNORE INTO temp.doubtful_row VALUES (?, ?, ?)", row.shape->name,
              row.values[0].integer, row.values[1].integer);
    }
  }

  /// Keeps a row of an earlier moment aside, to be used where it is the only one.
  void add_earlier(const FoundRow& row) {
    if (std::ranges::find(earlier_tables, row.shape->name) == earlier_tables.end()) return;
    insert(row, fmt::format("temp.earlier_{}", row.shape->name));
  }

  /// Makes one store of the rows. From here on the file is one, once it is synced.
  void finish(IdSource& ids, SalvageReport& report) {
    mend_rows(db_, report);
    begin_anew(db_, ids, "salvaged from a damaged store");
    survey(db_, report);
    inserts_.clear();
    db_.execute("COMMIT");
  }

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  void insert(const FoundRow& row, const std::string& into) {
    sqlite3_stmt* statement = statement_for(*row.shape, into);
    int index = 0;
    int code = SQLITE_OK;
    for (const Value& value : row.values) {
      if (code == SQLITE_OK) code = bind(statement, ++index, value);
    }
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    std::optional<SqliteError> error;
    if (code != SQLITE_DONE) error = error_of(db_.handle(), code);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (error) throw *error;
  }

  sqlite3_stmt* statement_for(const Shape& shape, const std::string& into) {
    Statement& statement = inserts_[into];
    if (statement) return statement.get();
    const std::vector<std::string> marks(shape.columns.size(), "?");
    const std::string sql =
        fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", into, fmt::join(marks, ", "));
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v2(db_.handle(), sql.c_str(), -1, &made, nullptr);
    statement.reset(made);
    if (code != SQLITE_OK) throw error_of(db_.handle(), code);
    return made;
  }

  std::atomic<std::uint64_t> rows_read_ = 0;
  Connection db_;
  std::map<std::string, Statement> inserts_;  ///< By the table they write to.
};

Result<void> check_paths(const std::string& from, const std::string& to) {
  std::error_code unknown;
  // A store that was never written back is all in its WAL.
  const std::string first = std::filesystem::exists(from, unknown) ? from : from + "-wal";
  if (!std::filesystem::is_regular_file(first, unknown)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file {}", shown_location(from)));
  }
  return check_new_place(to);
}

// Another format is believed of a page that is as it was written; of any other it is damage.
Result<void> check_format_of(const PageSource& source) {
  const auto first = source.read(1);
  if (!first || !source.is_proven(1, *first)) return {};
  const std::uint32_t format = big_endian_32(*first, format_at);
  const bool is_ours = format >= rules::first_format && format <= format_number;
  if (format == 0 || is_ours) return {};
  return check_numbers(big_endian_32(*first, application_at), format);
}

// Rows wander between pages. One that lay on a page whose newest copy is a damaged frame is still
// where it was before, at the last moment of which everything is whole.
void add_earlier_rows(const std::string& from, SalvagedFile& file) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"),
                          LogPart::up_to_damage);
  find_rows(source, {.row = [&](FoundRow&& row) { file.add_earlier(row); }, .go_on = {}});
}

Result<SalvageReport> salvage(const std::string& from, const std::string& to,
                              const Progress& progress) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"));
  if (auto known = check_format_of(source); !known) return forward(known);
  auto part = PartFile::open_for(to);
  if (!part) return forward(part);
  SalvageReport report;
  std::uint64_t rows = 0;
  bool stopped = false;
  Step step{.done = 0, .total = source.page_count()};
  {
    SalvagedFile file(part->path(), random_ids());
    const auto take = [&](FoundRow&& row) {
      if (row.shape->is_of_a_table()) ++rows;
      file.add(row);
    };
    const auto go_on = [&](std::uint64_t) {
      step.done = std::min(step.done + 1, step.total);
      stopped = progress && !progress(step);
      return !stopped;
    };
    const auto pages = find_rows(source, {.row = take, .go_on = go_on});
    if (stopped) return fail(ErrorCode::unavailable, "the salvage was told to stop");
    if (rows == 0) {
      return fail(ErrorCode::corrupted,
                  fmt::format("nothing in {} looks like a Perdure store", from));
    }
    report.pages_unreadable = pages.unreadable;
    if (source.has_gap()) add_earlier_rows(from, file);
    file.finish(random_ids(), report);
  }
  if (auto named = part->give_name(to); !named) return forward(named);
  return report;
}

}  // namespace
}  // namespace sqlite

Result<SalvageReport> salvage_store(const std::string& from, const std::string& to,
                                    const Progress& progress) {
  if (auto checked = sqlite::check_paths(from, to); !checked) return forward(checked);
  try {
    // As when a store is opened: a link to one leads to what lies beside it, too.
    const std::string original = std::filesystem::weakly_canonical(from).string();
    return rules::followed(
        progress, [&](const Progress& told) { return sqlite::salvage(original, to, told); });
  } catch (const sqlite::SqliteError& error) {
    return fail(ErrorCode::unavailable, fmt::format("cannot write {}: {}", to, error.what()));
  } catch (const std::system_error& error) {
    return fail(ErrorCode::unavailable, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::unavailable, "out of memory");
  }
}

}  // namespace perdure
