// The tables of a store file: their format number, how they come to be, and the
// views that show a person what is in them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

/// All tables of a store, whatever their format makes of them.
inline constexpr std::array<std::string_view, 19> store_tables = {
    "meta",    "session", "segment", "entry",    "receipt",        "checkpoint", "call",
    "message", "blob",    "worker",  "resource", "pruned",         "claim",      "garbage",
    "staged",  "move",    "transit", "arriving", "arrived_segment"};

/// Leads from one format to the next, inside the transaction in which a store is opened.
using FormatStep = void (*)(Connection&);
/// In order, from the first format (rules/format.hpp) on.
using FormatSteps = std::span<const FormatStep>;

/// Those of this build. There are none yet; tests open stores with one more.
inline constexpr FormatSteps own_steps{};

/// What this build writes. An older file is migrated if it was released, a newer one refused.
inline constexpr std::int64_t format_number = 4;

/// The format to which these steps lead.
[[nodiscard]] std::int64_t last_format(FormatSteps steps);

/// Where a file's first page says of which format it is, and whose.
inline constexpr std::size_t format_at = 60;
inline constexpr std::size_t application_at = 68;

/// The format number that the file says it has. It is on the first page, which every transaction
/// has read anyway.
[[nodiscard]] std::int64_t read_format(Connection& connection);

/// Reads only, so that a file of another program stays as it is.
/// Fails: `unsupported` for a newer format, or one that was never released; `corrupted` if the file is
/// neither a store nor empty.
[[nodiscard]] Result<void> check_format(Connection& connection, FormatSteps steps = own_steps);
/// The same by what the file says of itself: whose it is, and of which format.
[[nodiscard]] Result<void> check_numbers(std::int64_t application, std::int64_t found,
                                         FormatSteps steps = own_steps);

/// Sets in an empty file what cannot be changed once it has pages: their size, room for their sums,
/// and the bookkeeping that lets a vacuum go step by step. Pages of 8 KiB, because messages of about 1 KB
/// leave a seventh of a smaller page empty.
void set_file_layout(Connection& connection);

/// Brings the file to the last format, step by step, inside the caller's transaction. An empty file
/// gets its tables first.
void migrate(Connection& connection, IdSource& ids, FormatSteps steps = own_steps);

/// Throws damage if a table or a column is missing that this build reads.
void require_tables(Connection& connection);

/// The id given to the store when it was made.
[[nodiscard]] std::string read_incarnation(Connection& connection);

}  // namespace perdure::sqlite
