// Text: which bytes are, and what is read from it: base64, digests, times, dollars.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Whether the bytes are well-formed UTF-8, strictly: no overlong forms, no surrogates, nothing
/// beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// The character that the text begins with; empty if it begins with none.
[[nodiscard]] std::string_view first_character(std::string_view text);

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Strict: nothing for other characters, missing padding, or a length that is not a multiple of 4.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// Reads 64 hexadecimal digits of either case; nothing for any other text.
[[nodiscard]] std::optional<Digest> digest_from_hex(std::string_view hex);

/// Reads every text of `to_iso8601` back unchanged; also a fraction of up to nine digits
/// (milliseconds count) and an offset such as `+01:00`. Nothing for any other text, a date or time
/// of day that does not exist (February 30, 24:00, a leap second), or a time that no Timestamp holds.
[[nodiscard]] std::optional<Timestamp> timestamp_from_iso8601(std::string_view text);

/// "2.25" is 2,250,000. Decimals beyond the sixth must be zeros. Empty for anything else: signs,
/// exponents, a point without digits on both sides, ten billion dollars.
[[nodiscard]] std::optional<std::int64_t> micros_from_dollars(std::string_view text);

}  // namespace perdure
