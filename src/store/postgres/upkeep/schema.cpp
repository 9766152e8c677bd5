// A starter that finds no store, or one of an earlier build, makes or migrates it, all in one script
// and so in one transaction. Ten that start at once wait for each other at a lock; nine then find
// that it is done, and look again.

#include "postgres/upkeep/schema.hpp"

#include <charconv>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <system_error>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/statements.hpp"
#include "postgres/upkeep/migration.hpp"
#include "rules/format.hpp"

namespace perdure::postgres {
namespace {

/// Also on every later connection: the server behind the address may be another one then.
constexpr std::string_view recognise_server = "SELECT perdure.recognise_server()";

struct Found {
  Standing standing{};
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
  return {.standing = {.has_schema = rows.boolean(0)},
          .has_meta = rows.boolean(1),
          .others = rows.integer(2),
          .engine = fmt::format("PostgreSQL {}", rows.text(3))};
}

std::string read_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM perdure.meta WHERE key = $1", Params::of(key));
  return rows.next() ? rows.string(0) : std::string();
}

Error not_there(const Address& address) {
  return {ErrorCode::not_found,
          fmt::format("there is no store in schema {} of {}", quoted_name(address.schema),
                      address.shown),
          {}};
}

Error not_made(const Address& address) {
  return {
      ErrorCode::not_found,
      fmt::format("there is no store in schema {0} of {1}, and `migrate=verify` forbids to make "
                  "one: open it once with `migrate=auto`, by a role that owns the schema or may "
                  "create it, then SELECT {0}.grant_to('the role that runs')",
                  quoted_name(address.schema), address.shown),
      "migrate"};
}

Error not_migrated(const Address& address, const Standing& standing, FormatSteps steps,
                   std::string_view why) {
  const std::string_view noted = standing.functions;
  return {
      ErrorCode::unsupported,
      fmt::format("the store in schema {} of {} has format {} and the functions of Perdure {}; "
                  "this program, Perdure {}, needs format {} and its own functions, and {}: open "
                  "it once with this version and `migrate=auto`, by the role that owns the "
                  "schema",
                  quoted_name(address.schema), address.shown, standing.format,
                  noted.empty() ? "(unknown)" : noted.substr(0, noted.find(' ')), own_version(),
                  last_format(steps), why),
      {}};
}

Error foreign(const Address& address) {
  return {ErrorCode::corrupted,
          fmt::format("schema {} of {} holds tables of another program: choose one by `schema=`",
                      quoted_name(address.schema), address.shown),
          {}};
}

// What is found may be migrated, but for a format that this build does not know.
Result<void> read_standing(Connection& db, Found& found, const Address& address,
                           FormatSteps steps) {
  if (!found.has_meta) {
    if (found.others > 0) return std::unexpected(foreign(address));
    return {};
  }
  Rows rows =
      db.query(fmt::format("SELECT (SELECT value FROM perdure.meta WHERE key = 'format'), "
                           "(SELECT value FROM perdure.meta WHERE key = 'functions'), ({})",
                           standing_digest));
  rows.next();
  const std::string format = rows.string(0);
  Standing& standing = found.standing;
  const auto [end, error] =
      std::from_chars(format.data(), format.data() + format.size(), standing.format);
  if (error != std::errc() || end != format.data() + format.size() || standing.format < 1) {
    return std::unexpected(foreign(address));
  }
  if (standing.format > last_format(steps)) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("the store has format {}, this version of Perdure reads {}: use a newer one",
                    format, last_format(steps)));
  }
  if (standing.format < rules::first_format) {
    return fail(ErrorCode::unsupported, rules::unreleased_format(standing.format));
  }
  standing.functions = rows.string(1);
  standing.digest = rows.string(2);
  return {};
}

Result<void> check_migration(const Found& found, const Address& address, bool create,
                             FormatSteps steps) {
  const bool may_change = address.migrate == Migrate::automatic;
  if (found.has_meta) {
    if (may_change) return {};
    return std::unexpected(
        not_migrated(address, found.standing, steps, "`migrate=verify` forbids to change it"));
  }
  if (!create) return std::unexpected(not_there(address));
  if (!may_change) return std::unexpected(not_made(address));
  return {};
}

// Then it is to be looked at again.
Result<void> migrate(Connection& db, const Found& found, const Address& address, IdSource& ids,
                     FormatSteps steps) try {
  db.execute(migration_script(address, found.standing, ids, steps));
  return {};
} catch (const PgError& error) {
  // Somebody else made it, or its schema, between our look and our turn.
  if (error.sqlstate() == migrated_meanwhile || error.sqlstate() == "42P06") return {};
  if (error.sqlstate() != "42501" || !found.has_meta) throw;
  return std::unexpected(
      not_migrated(address, found.standing, steps, "this role may not change it"));
}

}  // namespace

Result<Opened> open_schema(Client& client, bool create, IdSource& ids, FormatSteps steps) {
  const Address& address = client.address();
  auto opened = client.read([&](Connection& db) -> Result<Opened> {
    while (true) {
      Found found = look(db);
      if (auto read = read_standing(db, found, address, steps); !read) return forward(read);
      if (is_current(found.standing, steps)) {
        db.query(recognise_server);
        return Opened{.incarnation = read_meta(db, "incarnation"), .engine = found.engine};
      }
      if (auto may = check_migration(found, address, create, steps); !may) return forward(may);
      if (auto migrated = migrate(db, found, address, ids, steps); !migrated)
        return forward(migrated);
    }
  });
  if (opened) client.begin_with(recognise_server);
  return opened;
}

}  // namespace perdure::postgres
