// JSON Schema: a schema and a value, a zero byte between them. Whatever they are, the verdict comes
// in bounded time, and comes again; what is told to be wrong is at a place that is there.

#include "agent/api/json_schema.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "target.hpp"

using perdure::Json;
using perdure::fuzz::expect;

namespace {

std::string name_of(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    name += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return name;
}

bool is_there(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  while (at != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = pointer.find('/');
    const std::string name = name_of(pointer.substr(0, end));
    const auto* array = at->as_array();
    if (array != nullptr) {
      const std::size_t index = std::stoul(name);
      at = index < array->size() ? &(*array)[index] : nullptr;
    } else {
      at = at->find(name);
    }
    pointer = end == std::string_view::npos ? std::string_view() : pointer.substr(end);
  }
  return at != nullptr;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  perdure::fuzz::Input input(data, size);
  const auto schema_json = perdure::parse_json(input.text());
  const auto value = perdure::parse_json(input.rest());
  if (!schema_json || !value) return 0;
  const auto schema = perdure::JsonSchema::compile(*schema_json);
  if (!schema) return 0;
  const auto errors = schema->check(*value);
  expect(errors == schema->check(*value), "the same value gets the same verdict");
  expect(errors.size() <= perdure::schema_errors_max + 1, "errors are limited");
  for (const auto& error : errors) {
    expect(is_there(*value, error.at), "what is wrong is at a place that is there");
  }
  return 0;
}
