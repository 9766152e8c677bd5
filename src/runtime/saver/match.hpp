// What two texts have in common, as ranges.
//
// First what they begin and end with: a state whose list grew is done with that. Then, for
// what is left, stretches whose borders are chosen by the text itself, so that text that
// moved has the same borders wherever it stands, and each one found is widened as far as
// it goes. That needs no knowledge of JSON, and finds a nested list or a growing
// string as well as a list at the top.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace perdure::saver {

/// `base.substr(from, size)` is `next.substr(to, size)`.
struct Match {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t size = 0;

  bool operator==(const Match&) const = default;
};

/// In the order of `next`, not overlapping there. Not every match there is.
[[nodiscard]] std::vector<Match> find_matches(std::string_view base, std::string_view next);

}  // namespace perdure::saver
