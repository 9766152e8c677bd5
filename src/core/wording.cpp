// Names are compared once they were brought to one form. A name that is longer than
// any real one is not compared.

#include "core/api/wording.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {
namespace {

constexpr std::size_t compared_bytes_max = 128;

std::string one_form(std::string_view name) {
  std::string form = lowered(name);
  std::erase_if(form, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.'; });
  return form;
}

}  // namespace

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char& letter : made) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return made;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::optional<std::string> closest_name(std::string_view meant,
                                        const std::vector<std::string_view>& known) {
  if (meant.size() > compared_bytes_max) return std::nullopt;
  const std::string form = one_form(meant);
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string_view name : known) {
    if (name.size() > compared_bytes_max) continue;
    const std::string other = one_form(name);
    const std::size_t distance = edit_distance(form, other);
    if (distance > std::max<std::size_t>(1, other.size() / 3)) continue;
    if (best && distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace perdure
