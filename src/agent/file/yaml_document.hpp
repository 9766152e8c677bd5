// YAML as JSON, with the place of everything.
//
// The part of YAML that people write by hand: mappings with text for keys, sequences, scalars. One
// document. No anchors, aliases or tags: so nothing multiplies, and a file says what it says.
//
// A Finding says what is wrong with an agent file, and where.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"

namespace perdure::agent_file {

/// From 1, as people count; columns count code points.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
  auto operator<=>(const Position&) const = default;
};

struct Finding {
  Position at{};
  std::string what{};
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

/// More than anybody mends at once.
inline constexpr std::size_t findings_max = 32;

/// Where a value is; its children in the order of the Json's members or elements.
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

// What a word without quotes means in YAML: the part on which all its readers agree.

/// null, true, false, a number in plain decimal notation, or else text. Nothing for a word that one
/// version of YAML takes for text and another for something else, or two for two numbers: `no`,
/// `010`, `1e3`, `0x1f`, `1_000`, `12:30`, `.5`, `True`.
[[nodiscard]] std::optional<Json> plain_scalar(std::string_view word);

}  // namespace perdure::agent_file
