// Overwriting what SQLite left behind.
//
// When a page overflows, SQLite moves some of its rows to another page and leaves their
// bytes where they were, in the unused middle of the page; `secure_delete` does not reach
// those copies. And a page that was free, taken for the end of a long body, keeps behind
// it what it held before. Such bytes are harmless, but they are there: what was erased
// would still be in the file. Ordinary writes pay nothing against it; erasing looks at
// every page.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

/// The page of a tree with zeros in its unused parts; empty if they are zeros already, or
/// if it does not look like such a page.
[[nodiscard]] std::optional<std::string> scrubbed(std::string_view page, std::uint32_t number);

/// The pages that have something left behind.
[[nodiscard]] std::vector<std::uint32_t> find_unclean(Connection& db);

/// Overwrites the unused parts of a page, whatever it is for by now.
void scrub(Connection& db, std::uint32_t number);

}  // namespace perdure::sqlite
