// Which formats there are, and how one becomes the next.

#include "sqlite/engine/schema.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "rules/format.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::int64_t application_id = 0x50445552;  // "PDUR"

std::int64_t pragma(Connection& connection, const char* statement) {
  Rows rows = connection.query(statement);
  return rows.next() ? rows.integer(0) : 0;
}

bool is_empty(Connection& connection) {
  return pragma(connection, "SELECT count(*) FROM sqlite_schema") == 0;
}

static_assert(format_number == rules::first_format + static_cast<std::int64_t>(own_steps.size()));

}  // namespace

std::int64_t last_format(FormatSteps steps) {
  return rules::first_format + static_cast<std::int64_t>(steps.size());
}

void set_file_layout(Connection& connection) {
  if (!is_empty(connection)) return;
  connection.execute("PRAGMA page_size = 8192;");
  connection.make_room_for_sums();
  // Last: this one writes the first page.
  connection.execute("PRAGMA auto_vacuum = INCREMENTAL;");
}

std::int64_t read_format(Connection& connection) {
  return pragma(connection, "PRAGMA user_version");
}

Result<void> check_format(Connection& connection, FormatSteps steps) {
  if (is_empty(connection)) return {};
  return check_numbers(pragma(connection, "PRAGMA application_id"), read_format(connection), steps);
}

Result<void> check_numbers(std::int64_t application, std::int64_t found, FormatSteps steps) {
  if (application != application_id) {
    return fail(ErrorCode::corrupted,
                "the file is an SQLite database of another program, not a Perdure store");
  }
  if (found > last_format(steps)) {
    return fail(ErrorCode::unsupported,
                fmt::format("the store has format {}, this version of Perdure reads up to {}: "
                            "use a newer Perdure",
                            found, last_format(steps)));
  }
  if (found < 1) return fail(ErrorCode::corrupted, "the store has no format number");
  if (found < rules::first_format) {
    return fail(ErrorCode::unsupported, rules::unreleased_format(found));
  }
  return {};
}

void migrate(Connection& connection, IdSource& ids, FormatSteps steps) {
  const std::int64_t found = read_format(connection);
  if (found == last_format(steps)) return;
  if (found == 0) make_tables(connection, ids);
  const std::size_t done = found == 0 ? 0 : static_cast<std::size_t>(found - rules::first_format);
  for (const FormatStep step : steps.subspan(done)) step(connection);
  make_views(connection);
  connection.execute(fmt::format("PRAGMA user_version = {}", last_format(steps)));
  connection.execute(fmt::format("PRAGMA application_id = {}", application_id));
}

void require_tables(Connection& connection) {
  for (const std::string_view select :
       {select_session, select_entry, select_checkpoint, select_call}) {
    static_cast<void>(connection.query(sql(select, "WHERE 0")).next());
  }
  for (const std::string_view table : store_tables) {
    static_cast<void>(connection.query(fmt::format("SELECT * FROM {} WHERE 0", table)).next());
  }
}

std::string read_incarnation(Connection& connection) {
  Rows rows = connection.query("SELECT value FROM meta WHERE key = 'incarnation'");
  return rows.next() ? rows.string(0) : std::string();
}

}  // namespace perdure::sqlite
