// The fold. One function for each channel; each decodes first and changes the state only
// when it can do all of it.

#include "perdure/runtime/state.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "state/read_log.hpp"

namespace perdure {
namespace {

// Why an entry was passed over; empty if it was not.
using Skip = std::optional<SkipReason>;

Skip because(const Error& error) {
  return error.code == ErrorCode::unsupported ? SkipReason::newer : SkipReason::unreadable;
}

template <class Part>
void begin(Part& part, const Entry& entry) {
  if (entry.fold == Fold::replace) part = Part{};
}

Skip fold_intent(State& state, const Entry& entry) {
  auto intent = intent_from_json(entry.body.bytes());
  if (!intent) return because(intent.error());
  begin(state.open_calls, entry);
  // A fork makes the call of its parent's message as one of its own.
  std::erase_if(state.open_calls, [&](const auto& open) {
    return intent->message != 0 && open.second.message == intent->message &&
           open.second.block == intent->block;
  });
  OpenCall& call = state.open_calls[entry.position];
  call.call = entry.position;
  call.message = intent->message;
  call.block = intent->block;
  call.tool = std::move(intent->tool);
  call.provider_id = std::move(intent->provider_id);
  call.args = std::move(intent->args);
  call.args_digest = intent->args_digest;
  call.operation = intent->operation;
  call.repeat = std::move(intent->repeat);
  call.scope = std::move(intent->scope);
  call.nonce = std::move(intent->nonce);
  call.permission = std::move(intent->permission);
  return {};
}

OpenCall* find_open(State& state, Position call) {
  const auto found = state.open_calls.find(call);
  return found == state.open_calls.end() ? nullptr : &found->second;
}

Skip fold_attempt(State& state, const Entry& entry) {
  auto attempt = attempt_from_json(entry.body.bytes());
  if (!attempt) return because(attempt.error());
  OpenCall* call = find_open(state, attempt->call);
  if (call == nullptr) return {};
  call->attempts = attempt->number;
  call->key_generation = attempt->key_generation;
  if (attempt->none_landed) call->not_landed = attempt->number - 1;
  if (!call->first_attempt) call->first_attempt = entry.at;
  call->worker = std::move(attempt->worker);
  call->doubt.reset();
  call->ended_at.reset();
  call->is_told = false;
  call->is_retried = false;
  return {};
}

Skip fold_doubt(State& state, const Entry& entry) {
  auto doubt = doubt_from_json(entry.body.bytes());
  if (!doubt) return because(doubt.error());
  OpenCall* call = find_open(state, doubt->call);
  if (call == nullptr) return {};
  call->doubt = std::move(doubt->why);
  if (doubt->has_ended && !call->ended_at) call->ended_at = entry.at;
  return {};
}

// It ends the doubt. The call itself is ended by its result, or goes on.
Skip fold_resolution(State& state, const Entry& entry) {
  const auto resolution = resolution_from_json(entry.body.bytes());
  if (!resolution) return because(resolution.error());
  OpenCall* call = find_open(state, resolution->call);
  if (call == nullptr) return {};
  call->doubt.reset();
  call->is_retried = resolution->decision == "retry";
  return {};
}

// For people: nothing follows from it.
Skip check_evidence(const Entry& entry) {
  const auto evidence = evidence_from_json(entry.body.bytes());
  return evidence ? Skip{} : because(evidence.error());
}

Skip fold_calls(State& state, const Entry& entry) {
  if (entry.kind == "intent") return fold_intent(state, entry);
  if (entry.kind == "attempt") return fold_attempt(state, entry);
  if (entry.kind == "doubt") return fold_doubt(state, entry);
  if (entry.kind == "evidence") return check_evidence(entry);
  if (entry.kind == "resolution") return fold_resolution(state, entry);
  return SkipReason::other_kind;
}

void settle_calls(State& state, const Message& message) {
  if (message.is_partial) return;
  for (const Block& block : message.blocks) {
    const auto* result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr) continue;
    const auto outcome = outcome_of(*result);
    const auto call = outcome ? state.open_calls.find(outcome->call) : state.open_calls.end();
    if (call == state.open_calls.end()) continue;
    call->second.is_told = true;
    if (outcome->is_final()) state.open_calls.erase(call);
  }
}

// For parts that have rules of their own. A list that a `replace` entry empties is kept if
// the entry is then refused.
template <class Part, class Change>
Skip fold_part(Part& part, const Entry& entry, Change change) {
  if (entry.fold == Fold::append) return change(part) ? Skip{} : SkipReason::refused;
  Part fresh;
  if (!change(fresh)) return SkipReason::refused;
  part = std::move(fresh);
  return {};
}

template <class Value>
Skip fold_value(std::optional<Value>& into, Result<Value> read) {
  if (!read) return because(read.error());
  into = *std::move(read);
  return {};
}

Skip fold_transcript(State& state, const Entry& entry) {
  if (entry.kind != "message") return SkipReason::other_kind;
  auto message = message_from_json(entry.body.bytes());
  if (!message) return because(message.error());
  begin(state.transcript, entry);
  // The answer is there, whole or cut off.
  if (message->role == Role::assistant) state.request.reset();
  settle_calls(state, *message);
  state.transcript.push_back({entry.position, *std::move(message)});
  return {};
}

Skip fold_setup(State& state, const Entry& entry) {
  if (entry.kind != "setup") return SkipReason::other_kind;
  return fold_value(state.setup, setup_from_json(entry.body.bytes()));
}

Skip fold_plan(State& state, const Entry& entry) {
  if (entry.kind != "plan") return SkipReason::other_kind;
  return fold_value(state.plan, plan_from_json(entry.body.bytes()));
}

Skip fold_origin(State& state, const Entry& entry) {
  if (entry.kind == "origin") {
    return fold_value(state.origin, origin_from_json(entry.body.bytes()));
  }
  if (entry.kind != "agent") return SkipReason::other_kind;
  auto change = agent_change_from_json(entry.body.bytes());
  if (!change) return because(change.error());
  if (!state.origin) return SkipReason::refused;
  state.origin->agent_digest = std::move(change->agent_digest);
  return {};
}

Skip fold_counters(State& state, const Entry& entry) {
  if (entry.kind != "counters") return SkipReason::other_kind;
  auto counters = counters_from_json(entry.body.bytes());
  if (!counters) return because(counters.error());
  state.counters = *std::move(counters);
  return {};
}

// Paid, given up, or known to be lost: nobody waits for that answer any more.
bool ends_request(const BudgetEntry& entry, const std::optional<OpenRequest>& request) {
  const bool ends = entry.change == BudgetChange::spend ||
                    entry.change == BudgetChange::unconfirmed ||
                    entry.change == BudgetChange::release;
  return ends && request && !entry.subject.empty() && request->request.reservation == entry.subject;
}

Skip fold_budget(State& state, const Entry& entry) {
  if (!budget_change_from(entry.kind)) return SkipReason::other_kind;
  const auto change = budget_entry_from_json(entry.kind, entry.body.bytes());
  if (!change) return because(change.error());
  const Skip skip = fold_part(state.budget, entry,
                              [&](Budget& budget) { return replay(budget, *change).has_value(); });
  if (!skip && ends_request(*change, state.request)) state.request.reset();
  return skip;
}

Skip fold_requests(State& state, const Entry& entry) {
  const bool ends = entry.kind == "lost" || entry.kind == "withdrawn";
  if (entry.kind != "request" && !ends) return SkipReason::other_kind;
  auto request = request_from_json(entry.body.bytes());
  if (!request) return because(request.error());
  if (ends) {
    state.request.reset();
    return {};
  }
  state.request = OpenRequest{.position = entry.position, .request = *std::move(request)};
  return {};
}

// What people decided about calls before that counts no more.
void void_decisions(State& state) {
  state.approvals.forget_given();
  for (auto& [position, call] : state.open_calls) call.is_retried = false;
}

Skip fold_approvals(State& state, const Entry& entry) {
  if (entry.kind == voided_kind) {
    void_decisions(state);
    return {};
  }
  if (!approval_decision_from(entry.kind)) return SkipReason::other_kind;
  auto approval = approval_from_json(entry.kind, entry.body.bytes());
  if (!approval) return because(approval.error());
  // Whoever decides has seen the call.
  if (entry.position <= approval->call) return SkipReason::refused;
  return fold_part(state.approvals, entry, [&](Approvals& approvals) {
    return approvals.apply(*std::move(approval)).has_value();
  });
}

Skip fold_scratchpad(State& state, const Entry& entry) {
  if (entry.kind == "blob") return {};  // It only keeps the blob alive.
  if (entry.kind != "set" && entry.kind != "delete") return SkipReason::other_kind;
  auto change = scratch_entry_from_json(entry.kind, entry.body.bytes());
  if (!change) return because(change.error());
  return fold_part(state.scratchpad, entry, [&](Scratchpad& scratchpad) {
    return apply(scratchpad, *std::move(change)).has_value();
  });
}

Skip fold_children(State& state, const Entry& entry) {
  if (entry.kind == "spawn") {
    const auto spawn = child_spawn_from_json(entry.body.bytes());
    if (!spawn) return because(spawn.error());
    state.children[spawn->child] = {.spawned = entry.position, .limit_micros = spawn->limit_micros};
    return {};
  }
  if (entry.kind != "result" && entry.kind != "end") return SkipReason::other_kind;
  auto end = child_end_from_json(entry.body.bytes());
  if (!end) return because(end.error());
  if (entry.kind == "end") {
    state.end = *std::move(end);
    return {};
  }
  const auto child = state.children.find(end->child);
  if (child == state.children.end()) return SkipReason::refused;
  child->second.end = *std::move(end);
  return {};
}

Skip fold_status(State& state, const Entry& entry) {
  auto note = status_note_from_json(entry.kind, entry.body.bytes());
  if (!note) return because(note.error());
  note->position = entry.position;
  state.status = *std::move(note);
  return {};
}

// What came in is told by what the session made of it, on the other channels.
Skip fold_inbox(State& /*state*/, const Entry& /*entry*/) { return {}; }

struct Channel {
  std::string_view name;
  Skip (*fold)(State& state, const Entry& entry);
};

constexpr std::array reserved_channels = {
    Channel{"transcript", fold_transcript},
    Channel{"setup", fold_setup},
    Channel{"plan", fold_plan},
    Channel{"budget", fold_budget},
    Channel{"counters", fold_counters},
    Channel{"requests", fold_requests},
    Channel{"calls", fold_calls},
    Channel{"approvals", fold_approvals},
    Channel{"scratchpad", fold_scratchpad},
    Channel{"inbox", fold_inbox},
    Channel{"origin", fold_origin},
    Channel{"children", fold_children},
    Channel{"status", fold_status},
};

const Channel* find_reserved(std::string_view name) {
  const auto* const found = std::ranges::find(reserved_channels, name, &Channel::name);
  return found == reserved_channels.end() ? nullptr : found;
}

Skip fold_user(State& state, const Entry& entry) {
  std::vector<ChannelItem>& items = state.channels[entry.channel];
  begin(items, entry);
  items.push_back({entry.position, entry.kind, entry.body});
  return {};
}

bool reads_body(const Channel& channel, const Entry& entry) {
  if (channel.fold == fold_inbox) return false;
  return channel.fold != fold_scratchpad || entry.kind != "blob";
}

Skip take_in(State& state, const Entry& entry) {
  if (entry.condition == Condition::erased) return SkipReason::erased;
  if (entry.condition == Condition::damaged) return SkipReason::damaged;
  const Channel* const channel = find_reserved(entry.channel);
  if (channel == nullptr) return fold_user(state, entry);
  if (entry.body.codec() == Codec::blob && reads_body(*channel, entry)) return SkipReason::blob;
  return channel->fold(state, entry);
}

}  // namespace

void count(State& state, const Entry& entry) {
  state.head = entry.position;
  ++state.entries;
  state.totals += entry.tally;
}

void fold(State& state, const Entry& entry) {
  count(state, entry);
  if (const Skip skip = take_in(state, entry)) {
    state.skipped.push_back({entry.position, entry.channel, *skip});
    // It may have said that the effects are other ones from there on.
    const bool may_be_other = entry.channel == "origin" && entry.fold == Fold::replace;
    if (may_be_other && state.origin) state.origin->nonce.clear();
    // It may have said that earlier decisions no longer count: people can be asked again.
    const bool is_gone = *skip == SkipReason::damaged || *skip == SkipReason::erased;
    if (is_gone && (entry.channel == "approvals" || entry.channel.empty())) void_decisions(state);
  }
}

bool is_reserved(std::string_view channel) { return find_reserved(channel) != nullptr; }

const Message* find_message(const State& state, Position position) {
  const auto found =
      std::ranges::lower_bound(state.transcript, position, {}, &PlacedMessage::position);
  if (found == state.transcript.end() || found->position != position) return nullptr;
  return &found->message;
}

std::optional<std::string_view> args_of(const State& state, const OpenCall& call) {
  if (call.args) return *call.args;
  const Message* const message = find_message(state, call.message);
  if (message == nullptr || call.block >= message->blocks.size()) return std::nullopt;
  const auto* const block = std::get_if<ToolCallBlock>(&message->blocks[call.block]);
  if (block == nullptr) return std::nullopt;
  return block->args;
}

}  // namespace perdure
