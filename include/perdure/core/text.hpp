// Which bytes are text.

#pragma once

#include <string_view>

namespace perdure {

/// Whether the bytes are well-formed UTF-8, strictly: no overlong forms, no surrogates, nothing
/// beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// The character that the text begins with; empty if it begins with none.
[[nodiscard]] std::string_view first_character(std::string_view text);

}  // namespace perdure
