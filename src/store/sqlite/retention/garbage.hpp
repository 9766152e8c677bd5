// What goes: entries that no kept point can see, removed sessions, free pages. All of it in slices.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/slices.hpp"

namespace perdure::sqlite {

/// A sweep of one segment: where it is, and what it did so far.
struct Sweep {
  SegmentId segment = 0;
  Position from = 0;  ///< What is before it was looked at.
  Position to = 0;    ///< Inclusive.
  Freed freed{};
};

/// Drops the entries of the next slice that no kept point can see; says whether there is more.
/// Everything is looked up again: since the slice before, a fork may have been made, or a call
/// settled.
[[nodiscard]] bool sweep_slice(Connection& db, Sweep& sweep);

/// Sessions that are removed and not cleared, by number.
[[nodiscard]] std::vector<std::int64_t> list_garbage(Connection& db);

/// Clears these, and the removed sessions that existed only for their sake. What forks
/// still need stays, trimmed to what they can see.
[[nodiscard]] Result<Freed> clear_garbage(Slices& slices, std::vector<std::int64_t> sessions);

/// Gives free pages back. The file itself shrinks when the WAL is written back.
[[nodiscard]] Result<Freed> shrink_file(Slices& slices);

/// The page of a tree with zeros in its unused parts; empty if they are zeros already, or
/// if it does not look like such a page.
[[nodiscard]] std::optional<std::string> scrubbed(std::string_view page, std::uint32_t number);

}  // namespace perdure::sqlite
