// Money as it is counted everywhere: whole millionths of a dollar, never a fraction of binary digits.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perdure {

/// "2.25" is 2,250,000. Decimals beyond the sixth must be zeros. Empty for anything else: signs,
/// exponents, a point without digits on both sides, ten billion dollars.
[[nodiscard]] std::optional<std::int64_t> micros_from_dollars(std::string_view text);

}  // namespace perdure
