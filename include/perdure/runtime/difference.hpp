// What lies between two states: two versions of a session, or a session and its fork.

#pragma once

#include <string>
#include <vector>

#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct Difference {
  /// Positions of messages that only b has, and that only a has. Where both have another
  /// message at one position, as two forks may, it is in both lists.
  std::vector<Position> messages_added{};
  std::vector<Position> messages_removed{};
  bool is_setup_changed = false;
  bool is_plan_changed = false;
  bool is_budget_changed = false;
  std::vector<std::string> counters{};    ///< Names whose numbers differ.
  std::vector<std::string> scratchpad{};  ///< Keys whose values differ.
  std::vector<std::string> channels{};    ///< The user's, whose items differ.
  bool operator==(const Difference&) const = default;

  [[nodiscard]] bool is_empty() const { return *this == Difference{}; }
};

/// From a to b. What is missing on one side differs.
[[nodiscard]] Difference diff(const State& a, const State& b);

}  // namespace perdure
