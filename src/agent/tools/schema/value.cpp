// Numbers as integers where both are, and as doubles otherwise.

#include "tools/schema/value.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/json_text.hpp"
#include "perdure/core/json.hpp"
#include "text/text_cut.hpp"

namespace perdure::schema {

namespace {

// The digits before the point, if those after it are zeros and no exponent follows: exact, where the
// nearest double may be an integer and the number is not.
std::optional<std::string_view> integer_in(std::string_view token) {
  const std::size_t point = std::min(token.find('.'), token.size());
  if (token.find_first_not_of('0', point + 1) < token.size()) return std::nullopt;
  return token.substr(0, point);
}

}  // namespace

Number::Number(const Json& json) {
  const std::string& token = *json.number_token();
  constexpr double endless = std::numeric_limits<double>::infinity();
  value_ = json.as_double().value_or(token.starts_with('-') ? -endless : endless);
  const bool has_exponent = token.find_first_of("eE") != std::string::npos;
  const auto digits = has_exponent ? std::nullopt : integer_in(token);
  is_integer_ = has_exponent ? std::trunc(value_) == value_ : digits.has_value();
  if (digits) whole_ = Json::number(std::string(*digits))->as_int64();
}

std::optional<std::uint64_t> Number::as_count() const {
  if (!is_integer_ || value_ < 0) return std::nullopt;
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  if (value_ >= beyond) return INT64_MAX;
  return static_cast<std::uint64_t>(whole_.value_or(static_cast<std::int64_t>(value_)));
}

bool Number::is_divisor() const { return value_ > 0 && std::isfinite(value_); }

bool Number::is_multiple_of(const Number& divisor) const {
  if (whole_ && divisor.whole_) return *whole_ % *divisor.whole_ == 0;
  constexpr double rounding = 0x1p-51;
  const double quotient = value_ / divisor.value_;
  const double missed = std::abs(quotient - std::round(quotient));
  // This way round, infinity is a multiple too.
  return !(missed > std::abs(quotient) * rounding);
}

std::partial_ordering Number::operator<=>(const Number& other) const {
  if (whole_ && other.whole_) return *whole_ <=> *other.whole_;
  return value_ <=> other.value_;
}

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
