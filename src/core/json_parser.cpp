// JSON text to a value, or only to a yes.

#include <cstddef>
#include <fmt/format.h>
#include <string_view>

#include "json_reader.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_text.hpp"

namespace perdure {

Result<Json> parse_json(std::string_view text) {
  JsonReader<true> reader(text);
  Json value;
  if (!reader.read_document(&value)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("not JSON: byte {}: expected {}", reader.offset(), reader.expected()));
  }
  return value;
}

bool has_too_many_values(std::string_view json) {
  if (json.size() / 2 < json_values_max) return false;
  std::size_t values = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < json.size() && values <= json_values_max; ++i) {
    const char c = json[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (!is_string && (c == ',' || c == '[' || c == '{')) ++values;
  }
  return values > json_values_max;
}

Result<Json> parse_foreign_json(std::string_view text) {
  if (has_too_many_values(text)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("JSON of more than {} values", json_values_max));
  }
  return parse_json(text);
}

bool is_json(std::string_view text) { return JsonReader<false>(text).read_document(nullptr); }

}  // namespace perdure
