// YAML 1.1 and 1.2 differ in what is a boolean, an octal number and a float, and libraries differ
// from both. So a word on which they differ is no value at all here; in quotes it is a text.

#include "file/plain_scalar.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/json.hpp"
#include "tools/schema/pattern.hpp"

namespace perdure::agent_file {
namespace {

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool is_disputed_name(std::string_view word) {
  static constexpr std::array<std::string_view, 9> names = {"y",   "n",    "yes",   "no",  "on",
                                                            "off", "true", "false", "null"};
  return std::ranges::find(names, lower_case(word)) != names.end();
}

// Signed, octal, hexadecimal, binary, with underscores, base 60, exponents, bare points, infinities.
bool is_disputed_number(std::string_view word) {
  constexpr std::size_t number_bytes_max = 64;
  if (word.size() > number_bytes_max) return false;
  static const schema::Pattern shape = *schema::Pattern::compile(
      R"(^(?:\+?[-+]?(0[0-9_]+(\.[0-9_]*)?|[0-9][0-9_]*_[0-9_.]*|0o[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+)"
      R"(|[1-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+)"
      R"(|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*\.|\.(inf|Inf|INF|nan|NaN|NAN)))"
      R"(|\+[0-9][0-9_]*(\.[0-9_]*)?)$)");
  return shape.find_in(word) == schema::Match::yes;
}

}  // namespace

std::optional<Json> plain_scalar(std::string_view word) {
  if (word.empty() || word == "~" || word == "null") return Json();
  if (word == "true" || word == "false") return Json(word == "true");
  if (is_disputed_name(word) || is_disputed_number(word)) return std::nullopt;
  const bool is_decimal = word.find_first_not_of("-.0123456789") == std::string_view::npos;
  if (is_decimal) {
    if (auto number = Json::number(std::string(word))) return *number;
  }
  return Json(word);
}

}  // namespace perdure::agent_file
