// What is wrong with an agent file, and where.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace perdure::agent_file
