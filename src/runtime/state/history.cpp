// A turn at a time: a message of an assistant, then all up to the next one. Its results
// go first there, whatever came between.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using Messages = std::span<const PlacedMessage>;

/// Calls whose answer left them in doubt, and their tools.
using DoubtsTold = std::map<Position, std::string>;

// The results of one turn that are not yet given to a call.
class Results {
 public:
  Results(Position message, Messages after) {
    for (const PlacedMessage& placed : after) {
      if (placed.message.is_partial) continue;
      for (const Block& block : placed.message.blocks) {
        if (const auto* result = std::get_if<ToolResultBlock>(&block)) add(message, *result);
      }
    }
  }

  const ToolResultBlock* take_marked(Position call) {
    const auto found = marked_.extract(call);
    return found ? found.mapped() : nullptr;
  }

  const ToolResultBlock* take_unmarked(const std::string& id) {
    const auto found = std::ranges::find(unmarked_, id, &ToolResultBlock::call_id);
    if (found == unmarked_.end()) return nullptr;
    const ToolResultBlock* const result = *found;
    unmarked_.erase(found);
    return result;
  }

  // Calls are intended in the order of their blocks: the first of an id is the first mark.
  const ToolResultBlock* take_of_id(const std::string& id) {
    const auto found = std::ranges::find_if(
        marked_, [&](const auto& marked) { return marked.second->call_id == id; });
    return found == marked_.end() ? take_unmarked(id) : take_marked(found->first);
  }

 private:
  void add(Position message, const ToolResultBlock& result) {
    const auto outcome = outcome_of(result);
    if (!outcome) return unmarked_.push_back(&result);
    if (outcome->call <= message) return;
    const auto [known, is_first] = marked_.try_emplace(outcome->call, &result);
    // The first final result counts; before it, the latest.
    if (!is_first && !outcome_of(*known->second)->is_final()) known->second = &result;
  }

  std::map<Position, const ToolResultBlock*> marked_;
  std::vector<const ToolResultBlock*> unmarked_;
};

// Which result answers which call of a message.
//
// A result that is marked with its call (records.hpp) belongs to it by that mark: the state knows
// which block an open call is for, and the call of a message is intended after the message, so a
// mark before it means an earlier turn. The provider's id decides only among what is left.
class Answers {
 public:
  // `state` must outlive this. `in_doubt`: what earlier answers left so.
  Answers(const State& state, DoubtsTold in_doubt) : in_doubt_(std::move(in_doubt)) {
    for (const auto& [position, call] : state.details->open_calls) {
      if (call.message != 0) open_.insert_or_assign(std::pair(call.message, call.block), &call);
    }
    for (const Skipped& skipped : state.details->skipped) {
      if (skipped.channel != "calls") continue;
      unreadable_upto_ = std::max(unreadable_upto_, skipped.position);
    }
  }

  // One result for each tool_call of `message`, in order: found in `after`, the messages up to
  // the next of an assistant, or a statement. Each has the id of its call.
  std::vector<ToolResultBlock> of(const PlacedMessage& message, Messages after);

  // The outcome of a call that an earlier answer left in doubt, as text; empty for any other
  // result. Told once.
  std::optional<TextBlock> tell_late(const ToolResultBlock& result);

  // What the answers so far left in doubt.
  [[nodiscard]] const DoubtsTold& in_doubt() const { return in_doubt_; }

 private:
  [[nodiscard]] const OpenCall* find_open(Position message, std::size_t block) const {
    const auto found = open_.find(std::pair(message, block));
    return found == open_.end() ? nullptr : found->second;
  }
  [[nodiscard]] std::string statement(Position message, const OpenCall* open) const;

  std::map<std::pair<Position, std::uint64_t>, const OpenCall*> open_;
  Position unreadable_upto_ = 0;  // The last entry of channel `calls` that was passed over.
  DoubtsTold in_doubt_;
};

std::string Answers::statement(Position message, const OpenCall* open) const {
  if (open != nullptr && open->doubt && !open->doubt->empty()) {
    return fmt::format("[outcome unknown: {}]", *open->doubt);
  }
  if (open != nullptr) return "[outcome unknown: no result of this call is recorded]";
  if (unreadable_upto_ > message) {
    return "[outcome unknown: the record of this call cannot be read]";
  }
  return "[no result: there is no record that this call was made]";
}

std::vector<ToolResultBlock> Answers::of(const PlacedMessage& message, Messages after) {
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
  const auto left =
      outcome && outcome->is_final() ? in_doubt_.find(outcome->call) : in_doubt_.end();
  if (left == in_doubt_.end()) return std::nullopt;
  TextBlock told{.text = fmt::format("[known now of the earlier call of {}: {}] {}", left->second,
                                     to_string(*outcome->state), result.content)};
  in_doubt_.erase(left);
  return told;
}

bool is_result(const Block& block) { return std::holds_alternative<ToolResultBlock>(block); }
bool is_call(const Block& block) { return std::holds_alternative<ToolCallBlock>(block); }

bool is_text(const Block& block) {
  const auto* const text = std::get_if<TextBlock>(&block);
  return text != nullptr && !text->text.empty();
}

// What was said before it was cut off, and that it was.
Message as_far_as_it_went(Message message) {
  std::erase_if(message.blocks, [](const Block& block) { return !is_text(block); });
  if (!message.blocks.empty()) message.blocks.emplace_back(TextBlock{.text = "[cut off here]"});
  message.is_partial = false;
  return message;
}

// A message that is not an assistant's: without results, which have gone where they belong.
Message without_results(const Message& message, Answers& answers) {
  if (message.is_partial) return as_far_as_it_went(message);
  Message kept{.id = message.id,
               .role = message.role,
               .created_at = message.created_at,
               .unknown = message.unknown};
  for (const Block& block : message.blocks) {
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
      if (auto told = answers.tell_late(*result)) kept.blocks.emplace_back(*std::move(told));
    } else if (!is_call(block)) {
      kept.blocks.push_back(block);
    }
  }
  return kept;
}

Message as_assistant(const Message& message) {
  if (message.is_partial) return as_far_as_it_went(message);
  Message kept = message;
  std::erase_if(kept.blocks, is_result);
  return kept;
}

// Gives the calls of a message, and the results that answer them, ids that differ.
void make_ids_differ(Message& message, std::vector<ToolResultBlock>& results) {
  std::set<std::string> used;
  std::map<std::string, std::size_t> seen;
  std::size_t at = 0;
  for (Block& block : message.blocks) {
    auto* const call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr) continue;
    const std::string given = call->id;
    while (!used.insert(call->id).second) {
      call->id = given + "_" + std::to_string(++seen.try_emplace(given, 1).first->second);
    }
    results[at++].call_id = call->id;
  }
}

void keep(std::vector<Message>& out, Message message) {
  if (!message.blocks.empty()) out.push_back(std::move(message));
}

// Results ride on the first message that had some; on one of their own if there is none.
Messages::iterator carrier_in(Messages after) {
  return std::ranges::find_if(after, [](const PlacedMessage& placed) {
    return placed.message.role == Role::user && !placed.message.is_partial &&
           std::ranges::any_of(placed.message.blocks, is_result);
  });
}

void add_answered(const PlacedMessage& head, Messages after, Answers& answers,
                  std::vector<Message>& out) {
  Message message = as_assistant(head.message);
  auto results = answers.of(head, after);
  make_ids_differ(message, results);
  Message reply;
  reply.created_at = message.created_at;
  keep(out, std::move(message));

  const auto carrier = carrier_in(after);
  std::vector<Block> rest;
  if (carrier != after.end()) {
    reply = without_results(carrier->message, answers);
    rest = std::exchange(reply.blocks, {});
  }
  for (ToolResultBlock& result : results) reply.blocks.emplace_back(std::move(result));
  for (Block& block : rest) reply.blocks.push_back(std::move(block));
  keep(out, std::move(reply));
  for (auto next = after.begin(); next != after.end(); ++next) {
    if (next != carrier) keep(out, without_results(next->message, answers));
  }
}

void add_turn(const PlacedMessage& head, Messages after, Answers& answers,
              std::vector<Message>& out) {
  if (!head.message.is_partial && std::ranges::any_of(head.message.blocks, is_call)) {
    return add_answered(head, after, answers, out);
  }
  keep(out, as_assistant(head.message));
  for (const PlacedMessage& placed : after) keep(out, without_results(placed.message, answers));
}

bool is_assistants(const PlacedMessage& placed) { return placed.message.role == Role::assistant; }

Messages::iterator find_last_response(Messages messages) {
  const auto last = std::ranges::find_if(messages.rbegin(), messages.rend(), is_assistants);
  return last == messages.rend() ? messages.end() : std::prev(last.base());
}

std::size_t text_bytes(const Message& message) {
  std::size_t bytes = 0;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<TextBlock>(&block)) bytes += text->text.size();
    if (const auto* thought = std::get_if<ReasoningBlock>(&block)) bytes += thought->text.size();
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) bytes += call->args.size();
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) bytes += result->content.size();
  }
  return bytes;
}

// The first response that has so much text before it, and something before it; `last` if there is
// none earlier.
Messages::iterator find_part_end(Messages messages, Messages::iterator last, std::size_t text_max) {
  std::size_t bytes = 0;
  for (auto at = messages.begin(); at != last; ++at) {
    const bool is_enough = bytes >= text_max && at != messages.begin();
    if (is_enough && is_assistants(*at)) return at;
    bytes += text_bytes(at->message);
  }
  return last;
}

void add_turns(Messages messages, Answers& answers, std::vector<Message>& out) {
  auto head = std::ranges::find_if(messages, is_assistants);
  for (const PlacedMessage& placed : Messages(messages.begin(), head)) {
    keep(out, without_results(placed.message, answers));
  }
  while (head != messages.end()) {
    const auto next = std::find_if(head + 1, messages.end(), is_assistants);
    add_turn(*head, Messages(head + 1, next), answers, out);
    head = next;
  }
}

// What answers to messages before that position may depend on.
std::map<Position, OpenCall> open_before(const State& state, Position position) {
  std::map<Position, OpenCall> open;
  for (const auto& [call, entry] : state.details->open_calls) {
    if (entry.message < position) open.emplace(call, entry);
  }
  return open;
}

}  // namespace

std::vector<Message> provider_messages(const State& state) {
  return GrowingHistory().update(state).added;
}

bool GrowingHistory::holds(const State& state) const {
  if (!mark_) return true;
  const bool is_there = mark_->index < state.transcript.size() &&
                        state.transcript[mark_->index].position == mark_->position;
  return is_there && state.details->skipped.size() == mark_->skipped &&
         open_before(state, mark_->position) == mark_->open;
}

HistoryNews GrowingHistory::update(const State& state, std::size_t text_max) {
  if (!holds(state)) *this = {};
  const Messages all(state.transcript);
  const Messages rest = mark_ ? all.subspan(mark_->index) : all;
  const std::size_t told = mark_ ? mark_->told : 0;
  Answers answers(state, mark_ ? std::move(mark_->in_doubt) : DoubtsTold{});
  std::vector<Message> out;
  const auto last = find_last_response(rest);
  const auto end = find_part_end(rest, last, text_max);
  const bool has_more = end != last;
  add_turns(Messages(rest.begin(), end), answers, out);
  const std::size_t before = out.size();
  if (end != rest.end()) {
    mark_ = Mark{.index = static_cast<std::size_t>(end - rest.begin()) + (all.size() - rest.size()),
                 .position = end->position,
                 .told = told + before,
                 .in_doubt = answers.in_doubt(),
                 .open = open_before(state, end->position),
                 .skipped = state.details->skipped.size()};
    if (!has_more) add_turns(Messages(end, rest.end()), answers, out);
  }
  const auto same = std::ranges::mismatch(tail_, out).in2 - out.begin();
  // Without a response yet, all of it is the tail.
  tail_.assign(out.begin() + static_cast<std::ptrdiff_t>(mark_ ? before : 0), out.end());
  out.erase(out.begin(), out.begin() + same);
  return {
      .kept = told + static_cast<std::size_t>(same), .added = std::move(out), .has_more = has_more};
}

}  // namespace perdure
