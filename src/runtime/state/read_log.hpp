// The fold of a log from its first entry on, for those that read one (perdure/runtime/runtime.hpp).
//
// Of all plans only the last one counts, and an agent that keeps its plan up to date writes as many of
// them as of messages: plans that were replaced are not decoded.

#pragma once

#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class LogFold {
 public:
  /// What is left of the entry is not to be used.
  void take(Entry& entry);

  /// Decodes the last plan. False: it cannot be read, so an earlier one is in force; give all plans
  /// of the log to `take_plan`, in order.
  [[nodiscard]] bool read_last_plan();
  void take_plan(const Entry& entry);

  /// Once, at the end.
  [[nodiscard]] State finish();

 private:
  State state_;
  std::optional<Entry> plan_;  ///< The last one so far.
  State plans_;                ///< Of plans alone, if they had to be given once more.
};

/// The part of fold() that does not look at the entry's body.
void count(State& state, const Entry& entry);

/// What it means that the line to the session's head, at that position, cannot be read: if that is
/// still its head, and there is no entry, the store is damaged.
[[nodiscard]] Error missing_head(Store& store, const SessionId& session, Position head,
                                 Error error);

/// The head as it is now: what is committed or rewound later does not move it.
[[nodiscard]] inline Point at_position(Position head) {
  return head == 0 ? Point::head() : Point::position(head);
}

}  // namespace perdure
