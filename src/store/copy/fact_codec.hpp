// Slices of facts as a bundle holds them.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "store/api/transfer.hpp"

namespace perdure::bundle {

/// Numbers as facts have them: eight bytes each, the most significant first.
[[nodiscard]] std::string packed(std::initializer_list<std::uint64_t> numbers);

[[nodiscard]] std::string pack(const FactSlice& slice);

/// Empty for bytes that no `pack` wrote. What they say may still be what no store says: fact_check.hpp.
[[nodiscard]] std::optional<FactSlice> unpack(std::string_view bytes);

}  // namespace perdure::bundle
