// Numbers and times are read from their digits, never as floating-point numbers.

#include "file/fields.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/json_pointer.hpp"
#include "perdure/core/time.hpp"

namespace perdure::agent_file {
namespace {

const Json& nothing() {
  static const Json empty = Json::Object{};
  return empty;
}

std::int64_t whole(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Duration duration_from(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const std::string_view unit = text.substr(end);
  const std::int64_t number = whole(text.substr(0, end));
  if (unit == "ms") return std::chrono::milliseconds(number);
  if (unit == "s") return std::chrono::seconds(number);
  if (unit == "m") return std::chrono::minutes(number);
  if (unit == "h") return std::chrono::hours(number);
  return std::chrono::hours(number * 24);
}

}  // namespace

Fields Fields::object(std::string_view key) const {
  const Json* found = find(key);
  return Fields(found != nullptr && found->is_object() ? *found : nothing());
}

const Json::Object& Fields::members(std::string_view key) const {
  return *object(key).object_->as_object();
}

void Fields::read(std::string_view key, std::string& to) const {
  if (const Json* found = find(key)) to = *found->as_string();
}

void Fields::read(std::string_view key, bool& to) const {
  if (const Json* found = find(key)) to = *found->as_bool();
}

void Fields::read(std::string_view key, std::int64_t& to) const {
  // 5.0 is an integer too.
  if (const Json* found = find(key)) to = whole(*found->number_token());
}

void Fields::read(std::string_view key, std::size_t& to) const {
  if (const Json* found = find(key)) to = static_cast<std::size_t>(whole(*found->number_token()));
}

void Fields::read(std::string_view key, Duration& to) const {
  if (const Json* found = find(key)) to = duration_from(*found->as_string());
}

void Fields::read(std::string_view key, std::vector<std::string>& to) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  to.clear();
  for (const Json& element : *found->as_array()) to.push_back(*element.as_string());
}

void Fields::read(std::string_view key, std::vector<int>& to) const {
  const Json* found = find(key);
  if (found == nullptr) return;
  to.clear();
  for (const Json& element : *found->as_array()) {
    to.push_back(static_cast<int>(whole(*element.number_token())));
  }
}

void Fields::read(std::string_view key, std::map<std::string, std::string>& to) const {
  for (const auto& [name, value] : members(key)) to[name] = *value.as_string();
}

std::string Fields::word(std::string_view key, std::string_view otherwise) const {
  const Json* found = find(key);
  const auto* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string(otherwise) : *text;
}

std::string pointer_to(std::string_view pointer, std::string_view member) {
  return std::string(pointer) + '/' + pointer_part(member);
}

}  // namespace perdure::agent_file
