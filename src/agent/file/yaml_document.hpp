// YAML as JSON, with the place of everything.
//
// The part of YAML that people write by hand: mappings with text for keys, sequences, scalars. One
// document. No anchors, aliases or tags: so nothing multiplies, and a file says what it says.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "file/findings.hpp"
#include "perdure/core/json.hpp"

namespace perdure::agent_file {

/// Where a value stands; its children in the order of the Json's members or elements.
struct Place {
  Position at{};   ///< Of the value.
  Position key{};  ///< Of its key, or of the value if it has none.
  std::vector<Place> children{};
};

struct YamlDocument {
  Json value{};
  Place place{};
  Findings findings{};    ///< What is wrong with it; a word without a meaning is null in `value`.
  bool is_whole = false;  ///< It was read to its end: there is something to look at further.
};

inline constexpr std::size_t yaml_depth_max = 64;

/// `text` is UTF-8 without zero bytes; lines end in LF.
[[nodiscard]] YamlDocument read_yaml(std::string_view text);

/// A value and its place; both live as long as their document.
struct Spot {
  const Json& value;
  const Place& place;
};

/// What is at a JSON pointer, or the last on the way that is there.
[[nodiscard]] Spot spot_at(const YamlDocument& document, std::string_view pointer);

}  // namespace perdure::agent_file
