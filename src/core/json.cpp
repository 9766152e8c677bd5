// The Json value: numbers from and to C++ types, members by key, values by pointer.
//
// The index of a pointer has no sign, no leading zero and no other letters; "-", the
// element after the last, never exists.

#include "perdure/core/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "core/api/json_text.hpp"
#include "json_number.hpp"
#include "perdure/core/error.hpp"
#include "require.hpp"

namespace perdure {

namespace {

template <class Number>
std::string shortest(Number value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), written.ptr};
}

template <class Integer>
std::optional<Integer> integer_of(const std::string* token) {
  if (token == nullptr) return std::nullopt;
  if (*token == "-0") return Integer{0};
  Integer value = 0;
  const char* const end = token->data() + token->size();
  const auto read = std::from_chars(token->data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

// Shared by find() and set(), so that the one replaces what the other sees.
template <class Object>
auto* last_of(Object& object, std::string_view key) {
  const auto found = std::ranges::find(object.rbegin(), object.rend(), key, &Json::Member::first);
  return found == object.rend() ? nullptr : &found->second;
}

std::string_view kind_in_words(Json::Kind kind) {
  // In the order of the enum.
  constexpr std::array<std::string_view, 6> words = {"null",     "a boolean", "a number",
                                                     "a string", "an array",  "an object"};
  return words.at(static_cast<std::size_t>(kind));
}

Result<const Json*> member(const Json& args, std::string_view key) {
  if (!args.is_object()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no argument \"{}\": the arguments are {}, not an object", key,
                            kind_in_words(args.kind())),
                std::string(key));
  }
  const Json* const found = args.find(key);
  if (found != nullptr) return found;
  return fail(ErrorCode::invalid_argument, fmt::format("argument \"{}\" is missing", key),
              std::string(key));
}

std::unexpected<Error> refuse_kind(std::string_view key, const Json& value,
                                   std::string_view wanted) {
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("argument \"{}\" is {}, not {}", key, kind_in_words(value.kind()), wanted),
      std::string(key));
}

struct Wanted {
  std::string_view kind;
  std::string_view range;
};

template <class Number>
Result<Number> number_of(std::string_view key, const Json& value,
                         const std::optional<Number>& number, const Wanted& wanted) {
  if (!value.is_number()) return refuse_kind(key, value, wanted.kind);
  if (number) return *number;
  return fail(ErrorCode::invalid_argument,
              fmt::format("argument \"{}\" is a number, but not {}", key, wanted.range),
              std::string(key));
}

}  // namespace

Json::Number Json::token_of(double value) {
  require(std::isfinite(value), "a Json was made of a NaN or an infinity");
  return {shortest(value)};
}

Result<Json> Json::number(std::string token) {
  const char* const end = token.data() + token.size();
  const NumberScan scan = scan_number(token.data(), end);
  if (scan.expected != nullptr || scan.end != end) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("not a JSON number: byte {}: expected {}", scan.end - token.data(),
                            scan.expected != nullptr ? scan.expected : "the end"));
  }
  Json json;
  json.value_.emplace<Number>(std::move(token));
  return json;
}

std::optional<bool> Json::as_bool() const {
  const bool* const value = std::get_if<bool>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> Json::as_int64() const {
  return integer_of<std::int64_t>(number_token());
}

std::optional<std::uint64_t> Json::as_uint64() const {
  return integer_of<std::uint64_t>(number_token());
}

std::optional<double> Json::as_double() const {
  const std::string* const token = number_token();
  return token == nullptr ? std::nullopt : nearest_double(*token);
}

const std::string* Json::number_token() const {
  const Number* const number = std::get_if<Number>(&value_);
  return number == nullptr ? nullptr : &number->token;
}

const Json* Json::find(std::string_view key) const {
  const Object* const object = as_object();
  return object == nullptr ? nullptr : last_of(*object, key);
}

template <JsonReadable T>
Result<T> Json::get(std::string_view key) const {
  auto found = member(*this, key);
  if (!found) return forward(found);
  const Json& value = **found;
  if constexpr (std::same_as<T, Json>) {
    return value;
  } else if constexpr (std::same_as<T, std::string>) {
    if (const std::string* text = value.as_string()) return *text;
    return refuse_kind(key, value, "a string");
  } else if constexpr (std::same_as<T, bool>) {
    if (const auto boolean = value.as_bool()) return *boolean;
    return refuse_kind(key, value, "a boolean");
  } else if constexpr (std::same_as<T, double>) {
    return number_of(key, value, value.as_double(), {"a number", "one that a double can hold"});
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return number_of(key, value, value.as_int64(), {"an integer", "an integer of 64 bits"});
  } else {
    return number_of(key, value, value.as_uint64(),
                     {"an integer", "an integer of 64 bits that is not negative"});
  }
}

template Result<bool> Json::get(std::string_view key) const;
template Result<std::int64_t> Json::get(std::string_view key) const;
template Result<std::uint64_t> Json::get(std::string_view key) const;
template Result<double> Json::get(std::string_view key) const;
template Result<std::string> Json::get(std::string_view key) const;
template Result<Json> Json::get(std::string_view key) const;

void Json::set(std::string_view key, Json value) {
  if (is_null()) value_.emplace<Object>();
  Object* const object = as_object();
  require(object != nullptr, "Json::set() was called on a value that is no object");
  if (Json* const member = last_of(*object, key)) {
    *member = std::move(value);
  } else {
    object->emplace_back(key, std::move(value));
  }
}

bool Json::operator==(const Json& other) const { return value_ == other.value_; }

std::string pointer_name(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_escape =
        part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
    name += !is_escape ? part[i] : part[i + 1] == '0' ? '~' : '/';
    if (is_escape) ++i;
  }
  return name;
}

std::string pointer_part(std::string_view name) {
  std::string part;
  for (const char c : name) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

std::string text_in(const Json& object, std::string_view key) {
  const Json* const found = object.find(key);
  const std::string* const text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string() : *text;
}

const Json* find_member(const Json& value, std::string_view part) {
  if (value.is_object()) return value.find(pointer_name(part));
  const auto* array = value.as_array();
  if (array == nullptr || part.empty() || (part.size() > 1 && part.front() == '0')) return nullptr;
  std::size_t index = 0;
  const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool is_index = read.ec == std::errc{} && read.ptr == part.data() + part.size();
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

const Json* find_by_pointer(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    at = find_member(*at, pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return at;
}

}  // namespace perdure
