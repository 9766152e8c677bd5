// The dispatcher's own rules (foresight.hpp) where the agent's tools are known. Where its file is gone,
// what the ledger says of a call is all there is.

#include "recovery/left_open.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "context/pending_calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

Fate fate_of(Prospect prospect) {
  switch (prospect) {
    case Prospect::run:
      return Fate::runs;
    case Prospect::run_again:
      return Fate::runs_again;
    case Prospect::verify:
      return Fate::asked_first;
    case Prospect::ask:
      return Fate::waits;
    case Prospect::tell_model:
      return Fate::told;
    case Prospect::refuse:
      return Fate::refused;
  }
  return Fate::waits;
}

// What people said of it stands, whatever the agent is.
Fate fate_of_intended(const OpenCall& open, const State& state) {
  const Approval* word = state.approvals.find(open.call, open.args_digest);
  if (word == nullptr) return Fate::runs;
  if (word->decision == ApprovalDecision::asked) return Fate::waits;
  return word->decision == ApprovalDecision::refused ? Fate::refused : Fate::runs;
}

Fate fate_by_class(const Call& call, const State& state) {
  const auto open = state.open_calls.find(call.position);
  if (call.state == CallState::intended) {
    return open != state.open_calls.end() ? fate_of_intended(open->second, state) : Fate::runs;
  }
  if (open != state.open_calls.end() && open->second.is_retried) return Fate::runs_again;
  switch (call.effect) {
    case EffectClass::read_only:
    case EffectClass::idempotent:
      return Fate::runs_again;
    case EffectClass::verifiable:
      return Fate::asked_first;
    case EffectClass::unsafe:
      return Fate::waits;
  }
  return Fate::waits;
}

// By another call of the same operation, before this one was begun.
Result<bool> was_done(Store& store, const Call& call) {
  if (call.state != CallState::intended || !call.key) return false;
  auto holder = store.ledger().find_holder(*call.key);
  if (!holder) return forward(holder);
  return *holder && (*holder)->state == CallState::succeeded;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::runs:
      return "runs";
    case Fate::replays:
      return "replays";
    case Fate::runs_again:
      return "runs_again";
    case Fate::asked_first:
      return "asked_first";
    case Fate::waits:
      return "waits";
    case Fate::told:
      return "told";
    case Fate::refused:
      return "refused";
  }
  return "";
}

Result<std::vector<LeftCall>> read_left_calls(Store& store, const SessionId& session,
                                              const State& state, const Foresight* foresight) {
  auto calls = store.ledger().list(unsettled_calls(session));
  if (!calls) return forward(calls);
  std::vector<LeftCall> left;
  left.reserve(calls->size());
  for (Call& call : *calls) {
    Fate fate =
        foresight != nullptr ? fate_of(foresight->of(state, call)) : fate_by_class(call, state);
    auto is_done = fate == Fate::refused ? Result<bool>(false) : was_done(store, call);
    if (!is_done) return forward(is_done);
    if (*is_done) fate = Fate::replays;
    left.push_back({std::move(call), fate});
  }
  return left;
}

Result<std::vector<Call>> read_inherited_doubts(Store& store, const SessionSummary& fork,
                                                const State& state) {
  std::vector<Call> inherited;
  std::optional<Parent> parent = fork.parent;
  std::vector<SessionId> seen{fork.id};
  // An id may be used again, also by a fork of its own descendant.
  while (parent && parent->lineage == Lineage::fork &&
         std::ranges::find(seen, parent->session) == seen.end()) {
    seen.push_back(parent->session);
    auto calls = store.ledger().list(unsettled_calls(parent->session));
    if (!calls) return forward(calls);
    for (Call& call : *calls) {
      const bool is_shared =
          call.position <= parent->position && state.open_calls.contains(call.position);
      if (is_shared && call.state != CallState::intended) inherited.push_back(std::move(call));
    }
    const auto row = store.sessions().read(parent->session);
    parent = row ? row->parent : std::nullopt;
  }
  return inherited;
}

}  // namespace perdure::cli
