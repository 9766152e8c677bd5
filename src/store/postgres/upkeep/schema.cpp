// A starter that finds no store, or one of an earlier build, makes or migrates it, all in one script
// and so in one transaction. Ten that start at once wait for each other at a lock; nine then find
// that it is done, and look again.
//
// Nothing of what a store says becomes part of a script: the role that runs agents writes `meta`, and
// the role that owns the tables migrates.

#include "postgres/upkeep/schema.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <system_error>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "rules/format.hpp"

namespace perdure::postgres {

std::int64_t last_format(FormatSteps steps) {
  return rules::first_format + static_cast<std::int64_t>(steps.size());
}

namespace {

/// Also on every later connection: the server behind the address may be another one then.
constexpr std::string_view recognise_server = "SELECT perdure.recognise_server()";

/// The digest of what `meta` says, in hexadecimal digits.
constexpr std::string_view standing_digest =
    "SELECT md5(string_agg(value, ' ' ORDER BY key)) FROM perdure.meta "
    "WHERE key IN ('format', 'functions')";

/// The SQLSTATE of a migration that another starter has done meanwhile.
constexpr std::string_view migrated_meanwhile = "PD010";

/// What was found in the schema.
struct Standing {
  bool has_schema = false;
  bool has_meta = false;
  std::int64_t others = 0;  ///< Tables in the schema.
  std::string engine{};
  std::int64_t format = 0;  ///< 0: there is no store.
  std::string functions{};  ///< "0.1.0 3fa9…"; empty: of a version that did not note it.
  std::string digest{};     ///< Of both, by `standing_digest`.
};

// What makes a store of this build's out of nothing, or out of one of an earlier build.

static_assert(format_number == rules::first_format + static_cast<std::int64_t>(own_steps.size()));

constexpr std::array partitioned = {"entry", "receipt", "checkpoint", "call", "message"};

std::string own_tables() { return to_hex(sha256(own_scripts().tables)); }

std::string own_functions() {
  return fmt::format("{} {}", own_scripts().version, to_hex(sha256(own_scripts().functions)));
}

// Numbers between dots. What is none is older than any.
std::array<int, 3> numbers_of(std::string_view version) {
  std::array<int, 3> numbers{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int& number : numbers) {
    at = std::from_chars(at, end, number).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return numbers;
}

void replace_all(std::string& text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), by);
    at += by.size();
  }
}

std::string make_tables(int partitions) {
  std::string script(own_scripts().tables);
  replace_all(script, "/*by session*/", partitions > 0 ? "PARTITION BY HASH (session)" : "");
  for (int i = 0; i < partitions; ++i) {
    for (const char* table : partitioned) {
      script += fmt::format(
          "CREATE TABLE perdure.{0}_{1} PARTITION OF perdure.{0} FOR VALUES WITH (MODULUS {2}, "
          "REMAINDER {1});\n",
          table, i, partitions);
    }
  }
  return script;
}

// `('commit', $definition$CREATE OR REPLACE FUNCTION perdure.commit(…) …$definition$), …`
std::string own_definitions() {
  constexpr std::string_view begin = "\nCREATE ";
  std::string rows;
  std::string_view rest = own_scripts().functions;
  std::size_t at = rest.find(begin);
  while (at != std::string_view::npos) {
    rest.remove_prefix(at + begin.size());
    at = rest.find(begin);
    const std::string_view text = rest.substr(0, at);
    const std::size_t name = text.find('.') + 1;
    rows += fmt::format("{}('{}', $definition$CREATE OR REPLACE {}$definition$)",
                        rows.empty() ? "" : ",\n",
                        text.substr(name, text.find_first_of("( ", name) - name), text);
  }
  return rows;
}

// What a superuser migrates stays the owner's, who may migrate it the next time.
constexpr std::string_view as_owner =
    "DO $$ BEGIN EXECUTE format('SET LOCAL ROLE %I', (SELECT pg_get_userbyid(relowner) FROM "
    "pg_class WHERE oid = 'perdure.meta'::regclass)); END $$;\n";

std::string renewal() {
  std::string script(own_scripts().renewal);
  replace_all(script, "/*definitions*/", own_definitions());
  return script;
}

bool is_current(const Standing& standing, FormatSteps steps) {
  if (standing.format != last_format(steps)) return false;
  return standing.functions == own_functions() ||
         numbers_of(standing.functions) > numbers_of(own_scripts().version);
}

/// All in one script, and so in one transaction, for one migrator at a time. It fails with
/// `migrated_meanwhile` if the schema is no longer as it was found.
// The lock is on the schema's name: other stores of the database are made meanwhile.
std::string migration_script(const Address& address, const Standing& standing, IdSource& ids,
                             FormatSteps steps) {
  const bool is_new = standing.format == 0;
  std::string script = fmt::format(
      "SELECT pg_advisory_xact_lock(hashtext('perdure.'));\n"
      "DO $$ BEGIN IF {} THEN RAISE EXCEPTION USING ERRCODE = '{}', "
      "MESSAGE = 'another starter has migrated the store meanwhile'; END IF; END $$;\n",
      is_new ? "to_regclass('perdure.meta') IS NOT NULL"
             : fmt::format("({}) IS DISTINCT FROM '{}'", standing_digest, standing.digest),
      migrated_meanwhile);
  if (!standing.has_schema)
    script += fmt::format("CREATE SCHEMA {};\n", quoted_name(address.schema));
  if (!is_new) script += as_owner;
  if (is_new) script += make_tables(address.partitions);
  const std::int64_t done = is_new ? 0 : standing.format - rules::first_format;
  for (const FormatStep step : steps.subspan(static_cast<std::size_t>(done))) script += step;
  script += is_new ? std::string(own_scripts().functions) : renewal();
  if (is_new) {
    script += fmt::format(
        "INSERT INTO perdure.meta VALUES ('incarnation', '{}'), ('syncs', '0'), "
        "('server', perdure.this_server()), ('tables', '{}');\n",
        mint<rules::StoreTag>(ids).text(), own_tables());
  }
  script += fmt::format(
      "INSERT INTO perdure.meta VALUES ('format', '{}'), ('functions', '{}') "
      "ON CONFLICT (key) DO UPDATE SET value = excluded.value;\n",
      last_format(steps), own_functions());
  return script;
}

// Looking at what is there.

Standing look(Connection& db) {
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

std::string read_meta(Connection& db, std::string_view key) {
  Rows rows = db.query("SELECT value FROM perdure.meta WHERE key = $1", Params::of(key));
  return rows.next() ? rows.string(0) : std::string();
}

std::unexpected<Error> not_migrated(const Address& address, const Standing& standing,
                                    FormatSteps steps, std::string_view why) {
  const std::string_view noted = standing.functions;
  return fail(
      ErrorCode::unsupported,
      fmt::format("the store in schema {} of {} has format {} and the functions of Perdure {}; "
                  "this program, Perdure {}, needs format {} and its own functions, and {}: open "
                  "it once with this version and `migrate=auto`, by the role that owns the "
                  "schema",
                  quoted_name(address.schema), address.shown, standing.format,
                  noted.empty() ? "(unknown)" : noted.substr(0, noted.find(' ')),
                  own_scripts().version, last_format(steps), why));
}

std::unexpected<Error> foreign(const Address& address) {
  return fail(
      ErrorCode::corrupted,
      fmt::format("schema {} of {} holds tables of another program: choose one by `schema=`",
                  quoted_name(address.schema), address.shown));
}

// What is found may be migrated, but for a format that this build does not know.
Result<void> read_standing(Connection& db, Standing& found, const Address& address,
                           FormatSteps steps) {
  if (!found.has_meta) {
    if (found.others > 0) return foreign(address);
    return {};
  }
  Rows rows =
      db.query(fmt::format("SELECT (SELECT value FROM perdure.meta WHERE key = 'format'), "
                           "(SELECT value FROM perdure.meta WHERE key = 'functions'), ({})",
                           standing_digest));
  rows.next();
  const std::string format = rows.string(0);
  const auto [end, error] =
      std::from_chars(format.data(), format.data() + format.size(), found.format);
  if (error != std::errc() || end != format.data() + format.size() || found.format < 1) {
    return foreign(address);
  }
  if (found.format > last_format(steps)) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("the store has format {}, this version of Perdure reads {}: use a newer one",
                    format, last_format(steps)));
  }
  if (found.format < rules::first_format) {
    return fail(ErrorCode::unsupported, rules::unreleased_format(found.format));
  }
  // A release never changes the tables of the first format: only another build between releases did.
  if (read_meta(db, "tables") != own_tables()) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("the store in schema {} of {} was made by an unreleased build of Perdure "
                    "with other tables: export its sessions with that build (perdure "
                    "export), and import them into a new store (perdure import)",
                    quoted_name(address.schema), address.shown));
  }
  found.functions = rows.string(1);
  found.digest = rows.string(2);
  return {};
}

Result<void> check_migration(const Standing& found, const Address& address, bool create,
                             FormatSteps steps) {
  const bool may_change = address.migrate == Migrate::automatic;
  if (found.has_meta && may_change) return {};
  if (found.has_meta) {
    return not_migrated(address, found, steps, "`migrate=verify` forbids to change it");
  }
  const std::string schema = quoted_name(address.schema);
  if (!create) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no store in schema {} of {}", schema, address.shown));
  }
  if (may_change) return {};
  return fail(
      ErrorCode::not_found,
      fmt::format("there is no store in schema {0} of {1}, and `migrate=verify` forbids to make "
                  "one: open it once with `migrate=auto`, by a role that owns the schema or may "
                  "create it, then SELECT {0}.grant_to('the role that runs')",
                  schema, address.shown),
      "migrate");
}

// Then it is to be looked at again.
Result<void> migrate(Connection& db, const Standing& found, const Address& address, IdSource& ids,
                     FormatSteps steps) try {
  db.execute(migration_script(address, found, ids, steps));
  return {};
} catch (const PgError& error) {
  // Another starter made it, or its schema, between our look and our turn.
  if (error.sqlstate() == migrated_meanwhile || error.sqlstate() == "42P06") return {};
  if (error.sqlstate() != "42501" || !found.has_meta) throw;
  return not_migrated(address, found, steps, "this role may not change it");
}

}  // namespace

Result<Opened> open_schema(Client& client, bool create, IdSource& ids, FormatSteps steps) {
  const Address& address = client.address();
  auto opened = client.read([&](Connection& db) -> Result<Opened> {
    while (true) {
      Standing found = look(db);
      if (auto read = read_standing(db, found, address, steps); !read) return forward(read);
      if (is_current(found, steps)) {
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
