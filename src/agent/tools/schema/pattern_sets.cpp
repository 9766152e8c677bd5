// Names of Unicode's properties: PCRE2 knows other spellings of them than ECMAScript.

#include "tools/schema/pattern_sets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

namespace perdure::schema {
namespace {

// The long names of what PCRE2 knows by two letters.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> categories = {{
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Currency_Symbol", "Sc"},
    {"Math_Symbol", "Sm"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Control", "Cc"},
    {"Other", "C"},
}};

}  // namespace

std::string property_set(char sign, std::string_view name) {
  const std::size_t equals = name.find('=');
  const std::string_view property = equals == std::string_view::npos ? "" : name.substr(0, equals);
  if (!property.empty()) name.remove_prefix(equals + 1);
  const bool is_script = property == "Script" || property == "sc";
  const bool is_category = property.empty() || property == "General_Category" || property == "gc";
  const bool is_name = !name.empty() && std::ranges::all_of(name, is_word);
  if (!is_name || (!is_script && !is_category)) return {};
  for (const auto& [words, letters] : categories) {
    if (is_category && name == words) name = letters;
  }
  return fmt::format("\\{}{{{}{}}}", sign, is_script ? "sc:" : "", name);
}

}  // namespace perdure::schema
