// Which formats there are, and how one becomes the next.

#include "sqlite/schema.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>

#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/formats.hpp"
#include "sqlite/rows.hpp"

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

using FormatStep = void (*)(Connection&, IdSource&);

// Step n leads from format n to n + 1. An empty file has format 0.
constexpr std::array<FormatStep, format_number> steps = {make_format_1, make_format_2,
                                                         make_format_3};

}  // namespace

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

Result<void> check_format(Connection& connection) {
  if (is_empty(connection)) return {};
  return check_numbers(pragma(connection, "PRAGMA application_id"), read_format(connection));
}

Result<void> check_numbers(std::int64_t application, std::int64_t found) {
  if (application != application_id) {
    return fail(ErrorCode::corrupted,
                "the file is an SQLite database of another program, not a Perdure store");
  }
  if (found > format_number) {
    return fail(ErrorCode::unsupported,
                fmt::format("the store has format {}, this version of Perdure reads up to {}: "
                            "use a newer Perdure",
                            found, format_number));
  }
  if (found < 1) return fail(ErrorCode::corrupted, "the store has no format number");
  return {};
}

void migrate(Connection& connection, IdSource& ids) {
  const auto found = static_cast<std::size_t>(read_format(connection));
  if (found == steps.size()) return;
  for (std::size_t format = found; format < steps.size(); ++format) {
    steps[format](connection, ids);
    connection.execute(fmt::format("PRAGMA user_version = {}", format + 1));
  }
  make_views(connection);
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
