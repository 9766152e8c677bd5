// Pairing results with calls, and what is said where a result is missing.

#include "state/answers.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"

namespace perdure::history {
namespace {

// The results of one turn that are not yet given to a call.
class Results {
 public:
  Results(Position message, std::span<const PlacedMessage> after) : message_(message) {
    for (const PlacedMessage& placed : after) {
      if (placed.message.is_partial) continue;
      for (const Block& block : placed.message.blocks) {
        if (const auto* result = std::get_if<ToolResultBlock>(&block)) add(*result);
      }
    }
    for (const auto& [call, result] : marked_) marked_ids_[result->call_id].insert(call);
  }

  const ToolResultBlock* take_marked(Position call) {
    const auto found = marked_.find(call);
    if (found == marked_.end()) return nullptr;
    const ToolResultBlock* const result = found->second;
    marked_ids_[result->call_id].erase(call);
    marked_.erase(found);
    return result;
  }

  const ToolResultBlock* take_unmarked(const std::string& id) {
    const auto found = unmarked_.find(id);
    if (found == unmarked_.end() || found->second.empty()) return nullptr;
    const ToolResultBlock* const result = found->second.front();
    found->second.pop_front();
    return result;
  }

  // Calls are intended in the order of their blocks: the first of an id is the first mark.
  const ToolResultBlock* take_of_id(const std::string& id) {
    const auto found = marked_ids_.find(id);
    if (found == marked_ids_.end() || found->second.empty()) return take_unmarked(id);
    return take_marked(*found->second.begin());
  }

 private:
  void add(const ToolResultBlock& result) {
    const auto outcome = outcome_of(result);
    if (!outcome) return unmarked_[result.call_id].push_back(&result);
    if (outcome->call <= message_) return;
    const auto [known, is_first] = marked_.try_emplace(outcome->call, &result);
    // The first word that is final stands; before it, the latest.
    if (!is_first && !outcome_of(*known->second)->is_final()) known->second = &result;
  }

  Position message_;
  std::map<Position, const ToolResultBlock*> marked_;
  std::map<std::string, std::set<Position>> marked_ids_;
  std::map<std::string, std::deque<const ToolResultBlock*>> unmarked_;
};

}  // namespace

Answers::Answers(const State& state, DoubtsTold in_doubt) : in_doubt_(std::move(in_doubt)) {
  for (const auto& [position, call] : state.open_calls) {
    if (call.message != 0) open_.insert_or_assign(std::pair(call.message, call.block), &call);
  }
  for (const Skipped& skipped : state.skipped) {
    if (skipped.channel == "calls") {
      unreadable_upto_ = std::max(unreadable_upto_, skipped.position);
    }
  }
}

const OpenCall* Answers::find_open(Position message, std::size_t block) const {
  const auto found = open_.find(std::pair(message, block));
  return found == open_.end() ? nullptr : found->second;
}

std::string Answers::statement(Position message, const OpenCall* open) const {
  if (open != nullptr && open->doubt && !open->doubt->empty()) {
    return fmt::format("[outcome unknown: {}]", *open->doubt);
  }
  if (open != nullptr) {
    return "[outcome unknown: no result of this call is recorded]";
  }
  if (unreadable_upto_ > message) {
    return "[outcome unknown: the record of this call cannot be read]";
  }
  return "[no result: there is no record that this call was made]";
}

std::vector<ToolResultBlock> Answers::of(const PlacedMessage& message,
                                         std::span<const PlacedMessage> after) {
  Results results(message.position, after);
  const std::vector<Block>& blocks = message.message.blocks;
  // First those that are known by their place, so that no twin of the same id takes theirs.
  std::vector<const ToolResultBlock*> found(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (const OpenCall* open = find_open(message.position, i)) {
      found[i] = results.take_marked(open->call);
    }
  }
  std::vector<ToolResultBlock> answers;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto* const call = std::get_if<ToolCallBlock>(&blocks[i]);
    if (call == nullptr) continue;
    const OpenCall* const open = find_open(message.position, i);
    if (found[i] == nullptr) {
      found[i] = open == nullptr ? results.take_of_id(call->id) : results.take_unmarked(call->id);
    }
    if (found[i] == nullptr) {
      answers.push_back(
          {.call_id = call->id, .content = statement(message.position, open), .is_error = true});
      continue;
    }
    answers.push_back(*found[i]);
    answers.back().call_id = call->id;
    const auto outcome = outcome_of(*found[i]);
    if (outcome && !outcome->is_final()) in_doubt_.insert_or_assign(outcome->call, call->name);
  }
  return answers;
}

std::optional<TextBlock> Answers::tell_late(const ToolResultBlock& result) {
  const auto outcome = outcome_of(result);
  if (!outcome || !outcome->is_final()) return std::nullopt;
  const auto left = in_doubt_.find(outcome->call);
  if (left == in_doubt_.end()) return std::nullopt;
  TextBlock told;
  told.text = fmt::format("[known now of the earlier call of {}: {}] {}", left->second,
                          to_string(*outcome->state), result.content);
  in_doubt_.erase(left);
  return told;
}

}  // namespace perdure::history
