// Text: which bytes are, bytes as base64, dollars as money.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perdure {

/// Whether the bytes are well-formed UTF-8, strictly: no overlong forms, no surrogates, nothing
/// beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// The character that the text begins with; empty if it begins with none.
[[nodiscard]] std::string_view first_character(std::string_view text);

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Strict: nothing for other characters, missing padding, or a length that is no multiple of 4.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// "2.25" is 2,250,000. Decimals beyond the sixth must be zeros. Empty for anything else: signs,
/// exponents, a point without digits on both sides, ten billion dollars.
[[nodiscard]] std::optional<std::int64_t> micros_from_dollars(std::string_view text);

}  // namespace perdure
