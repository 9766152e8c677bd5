// Two states side by side. Everything is sorted, so one walk over each is enough.

#include <string>
#include <vector>

#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

void compare_messages(const State& a, const State& b, Difference& out) {
  auto left = a.transcript.begin();
  auto right = b.transcript.begin();
  while (left != a.transcript.end() || right != b.transcript.end()) {
    const bool only_left = right == b.transcript.end() ||
                           (left != a.transcript.end() && left->position < right->position);
    const bool only_right = left == a.transcript.end() ||
                            (right != b.transcript.end() && right->position < left->position);
    const bool is_same = !only_left && !only_right && left->message == right->message;
    if (!only_right && !is_same) out.messages_removed.push_back(left->position);
    if (!only_left && !is_same) out.messages_added.push_back(right->position);
    if (!only_right) ++left;
    if (!only_left) ++right;
  }
}

// The keys of two maps whose values differ, or that only one of them has.
template <class Map>
std::vector<std::string> changed_keys(const Map& a, const Map& b) {
  std::vector<std::string> keys;
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool only_left = right == b.end() || (left != a.end() && left->first < right->first);
    const bool only_right = left == a.end() || (right != b.end() && right->first < left->first);
    if (only_left || only_right || left->second != right->second) {
      keys.push_back(only_right ? right->first : left->first);
    }
    if (!only_right) ++left;
    if (!only_left) ++right;
  }
  return keys;
}

}  // namespace

Difference diff(const State& a, const State& b) {
  Difference out;
  compare_messages(a, b, out);
  out.is_setup_changed = a.setup != b.setup;
  out.is_plan_changed = a.plan != b.plan;
  out.is_budget_changed = a.budget != b.budget;
  out.counters = changed_keys(a.counters.values, b.counters.values);
  out.scratchpad = changed_keys(a.scratchpad.values, b.scratchpad.values);
  out.channels = changed_keys(a.channels, b.channels);
  return out;
}

}  // namespace perdure
