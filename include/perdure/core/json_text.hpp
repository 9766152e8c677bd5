// JSON text where its size is felt: put together piece by piece, or come from outside.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// Appends `text` as a JSON string, with the fewest escapes RFC 8785 allows; a surrogate is
/// written as its escape, a byte that is not UTF-8 as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// How many values a text from outside may have. Two bytes of it (`0,`) become forty in memory, so
/// its length alone limits little.
inline constexpr std::size_t json_values_max = 500'000;

/// One pass, which builds nothing and counts nothing inside strings.
[[nodiscard]] bool has_too_many_values(std::string_view json);

/// As parse_json, for a text that a model, a server or a tool wrote.
/// Fails: as parse_json; `invalid_argument` for more than json_values_max values.
[[nodiscard]] Result<Json> parse_foreign_json(std::string_view text);

}  // namespace perdure
