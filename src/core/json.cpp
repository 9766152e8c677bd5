// The Json value: numbers from and to C++ types, members by key.

#include "perdure/core/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

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

}  // namespace

Json::Number Json::signed_token(std::int64_t value) { return {shortest(value)}; }
Json::Number Json::unsigned_token(std::uint64_t value) { return {shortest(value)}; }

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

}  // namespace perdure
