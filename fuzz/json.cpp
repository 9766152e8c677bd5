// JSON: what was read is written back as an equal value, and has one canonical text.

#include "perdure/core/json.hpp"

#include <string>

#include "core/api/json_text.hpp"
#include "target.hpp"

using perdure::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = perdure::parse_json(text);
  expect(perdure::is_json(text) == value.has_value(), "is_json says what parse_json does");
  if (!value) return 0;

  const auto again = perdure::parse_json(value->text());
  expect(again && *again == *value, "what was read is written back as an equal value");
  expect(again->text() == value->text(), "a text that was written is written again");

  const auto canonical = perdure::canonical_json(*value);
  if (!canonical) return 0;
  const auto reread = perdure::parse_json(*canonical);
  expect(reread.has_value(), "a canonical text is JSON");
  const auto twice = perdure::canonical_json(*reread);
  expect(twice && *twice == *canonical, "a canonical text is its own canonical text");
  return 0;
}
