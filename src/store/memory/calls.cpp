// A key has at most one holder at a time, so the table of holders can follow each
// change of a call: who enters a holding state takes the key, who leaves one frees it.

#include "memory/calls.hpp"

#include <expected>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "memory/lines.hpp"
#include "memory/state.hpp"
#include "memory/undo.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "rules/calls.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

namespace {

class CallWriter {
 public:
  CallWriter(State& state, Undo& undo, SessionTable& session, const CallScope& scope)
      : state_(state), undo_(undo), session_(session), scope_(scope) {}

  Result<void> apply(const Intend& intent) {
    if (intent.call < scope_.first || intent.call > scope_.head) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the intent of a call must be an entry of its batch; {} is not",
                              intent.call));
    }
    auto args = check_position("arguments", intent.args);
    if (!args) return args;
    const std::string name = call_name(session_.row.id, intent.call);
    if (session_.calls.contains(intent.call)) {
      return fail(ErrorCode::already_exists, fmt::format("call {} is written down twice", name),
                  name);
    }
    undo_.of_key(session_.calls, intent.call);
    session_.calls.emplace(intent.call, rules::intended(session_.row.id, intent, scope_.at));
    if (intent.key) add_to_key(*intent.key, intent.call);
    return {};
  }

  Result<void> apply(const Dispatch& change) {
    auto found = find(change.call);
    if (!found) return forward(found);
    Call call = **found;
    auto moved = rules::dispatch(call, change, scope_.fence, scope_.at);
    if (!moved) return moved;
    auto free = check_key_free(call);
    if (!free) return free;
    replace(**found, call);
    return {};
  }

  Result<void> apply(const Settle& change) {
    auto found = find(change.call);
    if (!found) return forward(found);
    Call call = **found;
    auto moved = rules::settle(call, change, scope_.at);
    if (!moved) return moved;
    if (change.result) {
      auto result = check_position("result", *change.result);
      if (!result) return result;
    }
    replace(**found, call);
    return {};
  }

 private:
  void add_to_key(const Digest& key, Position call) {
    if (!state_.calls_by_key.contains(key)) undo_.of_key(state_.calls_by_key, key);
    std::vector<CallRef>& calls = state_.calls_by_key[key];
    undo_.of_end(calls);
    calls.push_back({session_.row.id, call});
  }

  Result<Call*> find(Position position) {
    const auto found = session_.calls.find(position);
    if (found != session_.calls.end()) return &found->second;
    const std::string name = call_name(session_.row.id, position);
    return fail(ErrorCode::conflict, fmt::format("there is no call {}", name), name);
  }

  Result<void> check_position(std::string_view what, Position position) const {
    if (is_on_line(state_, head_of(session_), position)) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("the {} of a call cannot be at position {}: the line to {} has no "
                            "such entry",
                            what, position, scope_.head));
  }

  Result<void> check_key_free(const Call& call) const {
    if (!call.key) return {};
    if (const auto claim = find_claim(state_, *call.key)) {
      return held(call, call_name(claim->session, claim->position));
    }
    const auto holder = state_.key_holders.find(*call.key);
    const CallRef self{call.session, call.position};
    if (holder == state_.key_holders.end() || holder->second == self) return {};
    return held(call, call_name(holder->second.session, holder->second.position));
  }

  static std::unexpected<Error> held(const Call& call, const std::string& holder) {
    return fail(ErrorCode::conflict,
                fmt::format("the key of call {} is held by call {}",
                            call_name(call.session, call.position), holder),
                holder);
  }

  void replace(Call& stored, const Call& call) {
    undo_.of_value(stored);
    if (stored.state == CallState::in_doubt) --session_.row.attention;
    if (call.state == CallState::in_doubt) ++session_.row.attention;
    if (call.key && !stored.key) add_to_key(*call.key, call.position);
    const auto held = rules::held_key(call);
    if (call.key && held != rules::held_key(stored)) {
      undo_.of_key(state_.key_holders, *call.key);
      if (held) {
        state_.key_holders[*call.key] = {call.session, call.position};
      } else {
        state_.key_holders.erase(*call.key);
      }
    }
    stored = call;
  }

  State& state_;
  Undo& undo_;
  SessionTable& session_;
  const CallScope& scope_;
};

}  // namespace

std::optional<Call> find_claim(const State& state, const Digest& key) {
  const auto claim = state.claims.find(key);
  if (claim != state.claims.end()) return claim->second;
  for (const ArrivalRow& arrival : state.arrivals | std::views::values) {
    const auto found = arrival.held.find(key);
    if (found != arrival.held.end()) return rules::claim_of(found->second);
  }
  return std::nullopt;
}

Result<void> apply_calls(State& state, Undo& undo, SessionTable& session, const CallScope& scope,
                         const std::vector<CallChange>& changes) {
  CallWriter writer(state, undo, session, scope);
  for (const CallChange& change : changes) {
    auto applied = std::visit([&](const auto& step) { return writer.apply(step); }, change);
    if (!applied) return applied;
  }
  return {};
}

}  // namespace perdure::memory
