// JSON text that is put together piece by piece, where a copy of every string would be felt.

#pragma once

#include <string>
#include <string_view>

namespace perdure {

/// Appends `text` as a JSON string, with the fewest escapes RFC 8785 allows; a surrogate is
/// written as its escape, a byte that is not UTF-8 as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace perdure
