// While it is filled the file needs no journal: if anything goes wrong it is thrown away.

#include "sqlite/salvage/salvaged_file.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/opening/restore.hpp"
#include "sqlite/pages/page_layout.hpp"
#include "sqlite/salvage/row_finder.hpp"

namespace perdure::sqlite {
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

std::string earlier(std::string_view table) { return fmt::format("temp.earlier_{}", table); }

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

}  // namespace

SalvagedFile::SalvagedFile(const std::string& path, IdSource& ids)
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

sqlite3_stmt* SalvagedFile::statement_for(const Shape& shape, const std::string& into) {
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

void SalvagedFile::insert(const FoundRow& row, const std::string& into) {
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

void SalvagedFile::add(const FoundRow& row) {
  insert(row, std::string(row.shape->into));
  if (row.is_doubtful && row.shape->name == "session") {
    db_.run("INSERT OR IGNORE INTO temp.doubtful VALUES (?)", row.values.front().integer);
  }
  if (row.is_doubtful && row.shape->is_of_a_table()) {
    db_.run("INSERT OR IGNORE INTO temp.doubtful_row VALUES (?, ?, ?)", row.shape->name,
            row.values[0].integer, row.values[1].integer);
  }
}

void SalvagedFile::add_earlier(const FoundRow& row) {
  if (std::ranges::find(earlier_tables, row.shape->name) == earlier_tables.end()) return;
  insert(row, earlier(row.shape->name));
}

void SalvagedFile::mend(SalvageReport& report) { mend_rows(db_, report); }

void SalvagedFile::finish(IdSource& ids, SalvageReport& report) {
  begin_anew(db_, ids, "salvaged from a damaged store");
  survey(db_, report);
  inserts_.clear();
  db_.execute("COMMIT");
}

}  // namespace perdure::sqlite
