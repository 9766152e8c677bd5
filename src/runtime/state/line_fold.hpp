// The fold of a line from its first entry on.
//
// Of all plans only the last one counts, and an agent that keeps its plan up to date writes as much of
// them as of messages: those that were replaced are not looked into.

#pragma once

#include <optional>

#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure::folding {

class LineFold {
 public:
  /// What is left of the entry is not to be used.
  void take(Entry& entry);

  /// Empty: the last plan cannot be read, so an earlier one is in force: fold() knows which. Once.
  [[nodiscard]] std::optional<State> finish();

 private:
  State state_;
  std::optional<Entry> plan_;  ///< The last one so far.
};

/// What fold() does before it looks at the entry's body.
void count(State& state, const Entry& entry);

/// Whether the body is a plan, as far as can be told without reading it.
[[nodiscard]] bool holds_plan(const Entry& entry);

}  // namespace perdure::folding
