// Bytes as text: base64 with padding, RFC 4648 section 4.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perdure {

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Strict: nothing for other characters, missing padding, or a length that is no multiple of 4.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace perdure
