// JSON text to a value, or only to a yes.

#include <fmt/format.h>
#include <string_view>

#include "json_reader.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

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

bool is_json(std::string_view text) { return JsonReader<false>(text).read_document(nullptr); }

}  // namespace perdure
