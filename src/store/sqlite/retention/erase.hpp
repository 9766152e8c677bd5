// Overwriting what SQLite left behind on a page.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perdure::sqlite {

/// The page of a tree with zeros in its unused parts; empty if they are zeros already, or
/// if it does not look like such a page.
[[nodiscard]] std::optional<std::string> scrubbed(std::string_view page, std::uint32_t number);

}  // namespace perdure::sqlite
