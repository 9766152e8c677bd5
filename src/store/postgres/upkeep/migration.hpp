// What makes a store of this build's out of nothing, or out of one of an earlier build: the tables by
// steps from format to format, the functions by replacing them.
//
// Functions are of a version of Perdure and have a digest, both noted in `meta`. Whoever opens a
// store of the same format with other functions replaces them, but never a newer version's: these do
// for an older program what its own did, so that a fleet can be renewed one process after the other,
// and back. Where a function could not do that, its name or what it takes changes, and the older
// program's calls are refused; where a format changes, so do all that write. Between two builds of
// one version, as developers have them, whoever starts last has its functions there.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "perdure/core/id.hpp"
#include "postgres/client/address.hpp"

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

/// What was found in the schema.
struct Standing {
  bool has_schema = false;
  std::int64_t format = 0;  ///< 0: there is no store.
  std::string functions{};  ///< "0.1.0 3fa9…"; empty: of a version that did not note it.
  std::string digest{};     ///< Of both, by `standing_digest`.
};

/// A query: the digest of what `meta` says, in hexadecimal digits.
inline constexpr std::string_view standing_digest =
    "SELECT md5(string_agg(value, ' ' ORDER BY key)) FROM perdure.meta "
    "WHERE key IN ('format', 'functions')";

/// The SQLSTATE of a migration that somebody else has done meanwhile.
inline constexpr std::string_view migrated_meanwhile = "PD010";

/// Whether this build can work with it as it is.
[[nodiscard]] bool is_current(const Standing& standing, FormatSteps steps);

/// "0.1.0", of this program.
[[nodiscard]] std::string_view own_version();

/// All in one script, and so in one transaction, for one migrator at a time. It fails with
/// `migrated_meanwhile` if the schema is no longer as it was found.
[[nodiscard]] std::string migration_script(const Address& address, const Standing& standing,
                                           IdSource& ids, FormatSteps steps);

}  // namespace perdure::postgres
