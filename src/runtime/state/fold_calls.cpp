// An entry about a call that is not open says something that is over: it changes nothing.

#include "state/fold_calls.hpp"

#include <map>
#include <utility>
#include <variant>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "state/skip.hpp"

namespace perdure::folding {
namespace {

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

}  // namespace

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

}  // namespace perdure::folding
