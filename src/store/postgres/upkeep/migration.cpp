// Scripts are put together here and run elsewhere. Nothing of what a store says becomes part of one:
// the role that runs agents writes `meta`, and the role that owns the tables migrates.

#include "postgres/upkeep/migration.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/statements.hpp"
#include "postgres/upkeep/scripts.hpp"
#include "rules/format.hpp"
#include "rules/incarnation.hpp"

namespace perdure::postgres {
namespace {

static_assert(format_number == rules::first_format + static_cast<std::int64_t>(own_steps.size()));

constexpr std::array partitioned = {"entry", "receipt", "checkpoint", "call", "message"};

std::string own_functions() {
  return fmt::format("{} {}", own_version(), to_hex(sha256(functions_script())));
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
  std::string script(tables_script());
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
  std::string_view rest = functions_script();
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
  std::string script(renewal_script());
  replace_all(script, "/*definitions*/", own_definitions());
  return script;
}

}  // namespace

std::string_view own_version() { return program_version(); }

std::int64_t last_format(FormatSteps steps) {
  return rules::first_format + static_cast<std::int64_t>(steps.size());
}

bool is_current(const Standing& standing, FormatSteps steps) {
  if (standing.format != last_format(steps)) return false;
  return standing.functions == own_functions() ||
         numbers_of(standing.functions) > numbers_of(own_version());
}

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
  script += is_new ? std::string(functions_script()) : renewal();
  if (is_new) {
    script += fmt::format(
        "INSERT INTO perdure.meta VALUES ('incarnation', '{}'), ('syncs', '0'), "
        "('server', perdure.this_server());\n",
        mint<rules::StoreTag>(ids).text());
  }
  script += fmt::format(
      "INSERT INTO perdure.meta VALUES ('format', '{}'), ('functions', '{}') "
      "ON CONFLICT (key) DO UPDATE SET value = excluded.value;\n",
      last_format(steps), own_functions());
  return script;
}

}  // namespace perdure::postgres
