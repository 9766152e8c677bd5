// The tables and functions of a store: whether they are there, and making them: the tables by steps from
// format to format, the functions by replacing them.
//
// Functions are of a version of Perdure and have a digest, both noted in `meta`. Who opens a
// store of the same format with other functions replaces them, but never a newer version's: these do
// for an older program what its own did, so that a fleet can be renewed one process after the other,
// and back. Where a function could not do that, its name or what it takes changes, and the older
// program's calls are refused; where a format changes, so do all that write. Between two builds of
// one version, as developers have them, the one that starts last has its functions there; it refuses a
// store whose tables are those of another build.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "postgres/client/client.hpp"

namespace perdure::postgres {

/// What leads from one format to the next, as a script, with `perdure` for the schema.
using FormatStep = std::string_view;
/// In order, from the first format (rules/format.hpp) on.
using FormatSteps = std::span<const FormatStep>;

/// Those of this build. There are none yet; tests open stores with one more.
inline constexpr FormatSteps own_steps{};

/// What this build writes.
inline constexpr std::int64_t format_number = 4;

/// The format to which these steps lead.
[[nodiscard]] std::int64_t last_format(FormatSteps steps);

struct Opened {
  std::string incarnation{};
  std::string engine{};  ///< "PostgreSQL 15.8".
};

/// Makes sure that the schema holds a store of this build's format with functions that it can call.
/// Makes it if `create`, and makes or migrates it if the address allows it: in one transaction, by one
/// starter at a time.
/// Fails: `not_found` if there is none; `unsupported` for a newer format, one that was never released,
/// or an older one or other functions that may not be migrated; `corrupted` if the schema holds
/// something else; `unavailable`, also without the right to make it.
[[nodiscard]] Result<Opened> open_schema(Client& client, bool create, IdSource& ids,
                                         FormatSteps steps);

/// The SQL that makes a store, from sql/*.sql, with `perdure` for the schema, as embed_sql.cmake puts it
/// into the program.
struct Scripts {
  /// Tables and types of the first format. `/*by session*/` marks where a table can be partitioned.
  std::string_view tables;
  /// The functions and views of the format this build writes. Each begins with CREATE at the start of a
  /// line, and no two have the same name.
  std::string_view functions;
  /// Replaces those of an earlier build. `/*definitions*/` stands for the new ones.
  std::string_view renewal;
  /// "0.1.0", of the program that these belong to.
  std::string_view version;
};
[[nodiscard]] Scripts own_scripts();

}  // namespace perdure::postgres
