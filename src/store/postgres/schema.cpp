// A starter that finds no store makes one, all in one script and so in one transaction. Ten that
// start at once wait for each other at a lock; nine then meet tables that are there, and look again.

#include "postgres/schema.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "postgres/address.hpp"
#include "postgres/client.hpp"
#include "postgres/connection.hpp"
#include "postgres/error.hpp"
#include "postgres/params.hpp"
#include "postgres/rows.hpp"
#include "postgres/scripts.hpp"
#include "postgres/statements.hpp"
#include "rules/incarnation.hpp"

namespace perdure::postgres {
namespace {

constexpr std::array partitioned = {"entry", "receipt", "checkpoint", "call", "message"};

/// Also on every later connection: the server behind the address may be another one then.
constexpr std::string_view recognise_server = "SELECT perdure.recognise_server()";

struct Found {
  bool has_schema = false;
  bool has_meta = false;
  std::int64_t others = 0;  ///< Tables in the schema.
  std::string engine{};
};

Found look(Connection& db) {
  // `perdure.` in a statement is the schema's quoted name.
  Rows rows = db.query(
      "SELECT to_regnamespace(rtrim('perdure.', '.')) IS NOT NULL, "
      "to_regclass('perdure.meta') IS NOT NULL, "
      "(SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(rtrim('perdure.', "
      "'.'))), "
      "split_part(current_setting('server_version'), ' ', 1)");
  rows.next();
  return {.has_schema = rows.boolean(0),
          .has_meta = rows.boolean(1),
          .others = rows.integer(2),
          .engine = fmt::format("PostgreSQL {}", rows.text(3))};
}

std::optional<std::string> read_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM perdure.meta WHERE key = $1", Params::of(key));
  if (!rows.next()) return std::nullopt;
  return rows.string(0);
}

std::string with_partitions(int count) {
  std::string script(tables_script());
  constexpr std::string_view mark = "/*by session*/";
  for (std::size_t at = script.find(mark); at != std::string::npos; at = script.find(mark)) {
    script.replace(at, mark.size(), count > 0 ? "PARTITION BY HASH (session)" : "");
  }
  for (int i = 0; i < count; ++i) {
    for (const char* table : partitioned) {
      script += fmt::format(
          "CREATE TABLE perdure.{0}_{1} PARTITION OF perdure.{0} FOR VALUES WITH (MODULUS {2}, "
          "REMAINDER {1});\n",
          table, i, count);
    }
  }
  return script;
}

// The lock is on the schema's name: other stores of the database are made meanwhile.
std::string making_script(const Address& address, bool has_schema, IdSource& ids) {
  std::string script = "SELECT pg_advisory_xact_lock(hashtext('perdure.'));\n";
  if (!has_schema) script += fmt::format("CREATE SCHEMA {};\n", quoted_name(address.schema));
  script += with_partitions(address.partitions);
  script += functions_script();
  script += fmt::format(
      "INSERT INTO perdure.meta VALUES ('format', '{}'), ('incarnation', '{}'), ('syncs', '0'), "
      "('server', perdure.this_server());\n",
      format_number, mint<rules::StoreTag>(ids).text());
  return script;
}

// Somebody else made it between our look and our turn.
bool is_made_meanwhile(const PgError& error) {
  return error.sqlstate() == "42P06" || error.sqlstate() == "42P07" ||
         error.sqlstate() == "42723" || error.sqlstate() == "23505";
}

Error not_there(const Address& address) {
  return {ErrorCode::not_found,
          fmt::format("there is no store in schema {} of {}", quoted_name(address.schema),
                      address.shown),
          {}};
}

Error not_migrated(const Address& address) {
  return {ErrorCode::unsupported,
          fmt::format("there is no store of format {} in schema {} of {}, and `migrate=verify` "
                      "forbids to make one: open it once with `migrate=auto`, by a role that owns "
                      "the schema or may create it, then SELECT {}.grant_to('the role that runs')",
                      format_number, quoted_name(address.schema), address.shown,
                      quoted_name(address.schema)),
          {}};
}

Error foreign(const Address& address) {
  return {ErrorCode::corrupted,
          fmt::format("schema {} of {} holds tables of another program: choose one by `schema=`",
                      quoted_name(address.schema), address.shown),
          {}};
}

bool is_older(const std::string& format) {
  std::int64_t number = format_number;
  std::from_chars(format.data(), format.data() + format.size(), number);
  return number < format_number;
}

// Empty: there is none yet.
Result<std::optional<Opened>> read_store(Connection& db, const Found& found,
                                         const Address& address) {
  if (!found.has_meta) {
    if (found.others > 0) return std::unexpected(foreign(address));
    return std::nullopt;
  }
  const auto format = read_meta(db, "format");
  if (!format) return std::unexpected(foreign(address));
  if (address.migrate == Migrate::verify && is_older(*format)) {
    return std::unexpected(not_migrated(address));
  }
  if (*format != std::to_string(format_number)) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("the store has format {}, this version of Perdure reads {}: use a newer "
                    "one",
                    *format, format_number));
  }
  db.query(recognise_server);
  return Opened{.incarnation = read_meta(db, "incarnation").value_or(""), .engine = found.engine};
}

}  // namespace

Result<Opened> open_schema(Client& client, bool create, IdSource& ids) {
  const Address& address = client.address();
  auto opened = client.read([&](Connection& db) -> Result<Opened> {
    while (true) {
      const Found found = look(db);
      auto store = read_store(db, found, address);
      if (!store) return forward(store);
      if (*store) return **store;
      if (!create) return std::unexpected(not_there(address));
      if (address.migrate == Migrate::verify) return std::unexpected(not_migrated(address));
      try {
        db.execute(making_script(address, found.has_schema, ids));
      } catch (const PgError& error) {
        if (!is_made_meanwhile(error)) throw;
      }
    }
  });
  if (opened) client.begin_with(recognise_server);
  return opened;
}

}  // namespace perdure::postgres
