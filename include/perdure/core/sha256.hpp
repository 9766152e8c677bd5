// Digests: names by content, SHA-256.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace perdure {

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(const Digest& digest);

}  // namespace perdure
