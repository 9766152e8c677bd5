// Ids and names: an id is its text, and the text keeps the rule of id.hpp.

#include "perdure/core/id.hpp"

#include <algorithm>
#include <string>

#include "target.hpp"

using perdure::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto id = perdure::SessionId::parse(text);
  const bool named = perdure::check_name("name", text, perdure::id_bytes_max).has_value();
  expect(named == id.has_value(), "an id is a name");
  if (!id) return 0;

  expect(id->text() == text, "an id is its text");
  expect(!text.empty() && text.size() <= perdure::id_bytes_max, "1 to 128 bytes");
  expect(text.front() != ' ' && text.back() != ' ', "no space at either end");
  const auto is_control = [](char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; };
  expect(std::ranges::none_of(text, is_control), "no control character");
  expect(perdure::WorkerId::parse(text).has_value(), "one rule for all ids");
  return 0;
}
