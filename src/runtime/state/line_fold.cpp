// Which plan is in force nothing else in a log depends on.

#include "state/line_fold.hpp"

#include <optional>
#include <utility>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure::folding {

bool holds_plan(const Entry& entry) {
  return entry.channel == "plan" && entry.kind == "plan" && entry.condition == Condition::intact &&
         entry.body.codec() != Codec::blob;
}

void LineFold::take(Entry& entry) {
  if (!holds_plan(entry)) return fold(state_, entry);
  count(state_, entry);
  if (!plan_) plan_.emplace();
  std::swap(*plan_, entry);  // Who made the entry that was replaced also frees it.
}

std::optional<State> LineFold::finish() {
  if (plan_) {
    auto plan = plan_from_json(plan_->body.bytes());
    if (!plan) return std::nullopt;
    state_.plan = *std::move(plan);
  }
  return std::move(state_);
}

}  // namespace perdure::folding
