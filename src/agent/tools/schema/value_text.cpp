// Not canonical_json as a whole: that one refuses what no double holds, and members of one name.

#include "tools/schema/value_text.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "perdure/core/canonical_json.hpp"
#include "perdure/core/json.hpp"
#include "tools/text_cut.hpp"

namespace perdure::schema {
namespace {

void add_value(std::string& text, const Json& value);

void add_object(std::string& text, const Json::Object& object) {
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, member] : object) members[key] = &member;
  text += '{';
  for (const auto& [key, member] : members) {
    text += Json(key).text() + ":";
    add_value(text, *member);
    text += ',';
  }
  text += '}';
}

void add_value(std::string& text, const Json& value) {
  if (const auto* token = value.number_token()) {
    text += canonical_json(value).value_or(*token);
  } else if (const auto* object = value.as_object()) {
    add_object(text, *object);
  } else if (const auto* array = value.as_array()) {
    text += '[';
    for (const Json& element : *array) {
      add_value(text, element);
      text += ',';
    }
    text += ']';
  } else {
    text += value.text();
  }
}

}  // namespace

std::string value_text(const Json& value) {
  std::string text;
  add_value(text, value);
  return text;
}

std::string shown(const Json& value) {
  constexpr std::size_t bytes_max = 80;
  // Cut first: to write a long string out costs as much as it is long.
  if (const auto* string = value.as_string(); string != nullptr && string->size() > bytes_max) {
    return Json(utf8_prefix(*string, bytes_max)).text() + "…";
  }
  std::string text = value.text();
  if (text.size() <= bytes_max) return text;
  return std::string(utf8_prefix(text, bytes_max)) + "…";
}

std::string kind_words(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "the boolean " + value.text();
    case Json::Kind::number:
      return "the number " + shown(value);
    case Json::Kind::string:
      return "the string " + shown(value);
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
  }
  return "nothing";
}

}  // namespace perdure::schema
