// Where two long texts differ, for a failure that a person can read.

#pragma once

#include <fmt/format.h>
#include <sstream>
#include <string>

namespace perdure {

/// The first line in which the texts differ; empty if they are equal.
[[nodiscard]] inline std::string difference(const std::string& expected, const std::string& found) {
  if (expected == found) return {};
  std::istringstream left(expected);
  std::istringstream right(found);
  std::string wanted;
  std::string got;
  do {
    if (!std::getline(left, wanted)) wanted = "(nothing more)";
    if (!std::getline(right, got)) got = "(nothing more)";
  } while (wanted == got && (left || right));
  return fmt::format("\n  expected: {}\n  found:    {}", wanted, got);
}

}  // namespace perdure
