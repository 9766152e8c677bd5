// Levenshtein's distance, over names that were brought to one form. A name of another length
// than is known to anybody is not compared.

#include "text/wording.hpp"

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
  std::string form;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      form += static_cast<char>(c - 'A' + 'a');
    } else if (c != '_' && c != '-' && c != ' ' && c != '.') {
      form += c;
    }
  }
  return form;
}

std::size_t distance_of(std::string_view a, std::string_view b) {
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

}  // namespace

std::optional<std::string> closest_name(std::string_view meant,
                                        const std::vector<std::string_view>& known) {
  if (meant.size() > compared_bytes_max) return std::nullopt;
  const std::string form = one_form(meant);
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string_view name : known) {
    if (name.size() > compared_bytes_max) continue;
    const std::string other = one_form(name);
    const std::size_t distance = distance_of(form, other);
    if (distance > std::max<std::size_t>(1, other.size() / 3)) continue;
    if (best && distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace perdure
