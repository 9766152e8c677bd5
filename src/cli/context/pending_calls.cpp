// The log knows who was asked. A session's status does not: one that is paused, or came out of a backup
// or a bundle, waits for the same words as before.

#include "context/pending_calls.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "context/call_phrases.hpp"
#include "context/sessions.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

bool is_asked(const Call& call, const SessionSummary& session, const State* state) {
  if (has_ended(session.status)) return false;
  const bool is_known = state != nullptr && state->open_calls.contains(call.position);
  if (!is_known) return session.status == Status::waiting;
  const OpenCall& open = state->open_calls.at(call.position);
  const Approval* word = state->approvals.find(open.call, open.args_digest);
  return word != nullptr && word->decision == ApprovalDecision::asked;
}

// It was not made, because a bundle says that it was.
bool is_claimed(const Call& call, const SessionSummary& session, const State* state) {
  if (has_ended(session.status) || state == nullptr) return false;
  const auto open = state->open_calls.find(call.position);
  return open != state->open_calls.end() && open->second.doubt;
}

std::optional<Position> position_in(const std::string& text) {
  Position position = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, position);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return position;
}

Result<Call> choose(const std::string& text, std::vector<PendingCall> pending,
                    const std::vector<Need>& needs) {
  const auto fits = [&](const PendingCall& each) {
    return std::ranges::find(needs, each.need) != needs.end();
  };
  if (std::ranges::any_of(pending, fits)) std::erase_if(pending, std::not_fn(fits));
  if (pending.size() == 1) return std::move(pending.front().call);
  std::string message = pending.empty() ? fmt::format("no call of {} is pending", text)
                                        : fmt::format("several calls of {} are pending:", text);
  for (const PendingCall& each : pending) {
    message +=
        fmt::format("\n  {}  {}, waits for {}", call_name(each.call.session, each.call.position),
                    each.call.tool, to_string(each.need));
  }
  return fail(ErrorCode::not_found, message);
}

// About these somebody's word may be taken back.
Result<std::vector<PendingCall>> read_unmade(Store& store, const SessionId& session) {
  auto calls = store.ledger().list({.session = session, .states = {CallState::intended}});
  if (!calls) return forward(calls);
  std::vector<PendingCall> unmade;
  for (Call& call : *calls) {
    const Need need = asks_people(call.tool) ? Need::answer : Need::approval;
    unmade.push_back({std::move(call), need});
  }
  return unmade;
}

}  // namespace

std::string_view to_string(Need need) {
  static constexpr std::array<std::string_view, 4> names = {"decision", "resume", "approval",
                                                            "answer"};
  return names.at(std::to_underlying(need));
}

std::optional<Need> need_of(const Call& call, const SessionSummary& session, const State* state) {
  if (!session.moved_to.empty()) return std::nullopt;
  if (call.state == CallState::in_doubt) return Need::decision;
  if (call.state == CallState::dispatched) {
    const bool has_owner = session.holder && session.holder->alive;
    return has_owner ? std::nullopt : std::optional(Need::resume);
  }
  if (call.state == CallState::intended && is_claimed(call, session, state)) return Need::decision;
  if (call.state != CallState::intended || !is_asked(call, session, state)) return std::nullopt;
  return asks_people(call.tool) ? Need::answer : Need::approval;
}

CallQuery unsettled_calls(const std::optional<SessionId>& session) {
  return {.session = session,
          .states = {CallState::intended, CallState::dispatched, CallState::in_doubt}};
}

Result<std::vector<PendingCall>> read_pending(Store& store, const SessionSummary& session) {
  auto calls = store.ledger().list(unsettled_calls(session.id));
  if (!calls) return forward(calls);
  std::optional<State> state;
  if (std::ranges::find(*calls, CallState::intended, &Call::state) != calls->end()) {
    if (auto read = read_state(store, session.id, {})) state = *std::move(read);
  }
  std::vector<PendingCall> pending;
  for (Call& call : *calls) {
    const auto need = need_of(call, session, state ? &*state : nullptr);
    if (need) pending.push_back({std::move(call), *need});
  }
  return pending;
}

Result<Call> find_call(Store& store, const std::string& text, const std::vector<Need>& needs) {
  const auto colon = text.rfind(':');
  const auto position =
      colon == std::string::npos ? std::nullopt : position_in(text.substr(colon + 1));
  auto session = find_session(store, position ? text.substr(0, colon) : text);
  if (!session) return forward(session);
  if (position) return store.ledger().read(session->id, *position);
  auto pending = read_pending(store, *session);
  if (!pending) return forward(pending);
  if (pending->empty() && std::ranges::find(needs, Need::approval) != needs.end()) {
    pending = read_unmade(store, session->id);
    if (!pending) return forward(pending);
  }
  return choose(text, *std::move(pending), needs);
}

}  // namespace perdure::cli
