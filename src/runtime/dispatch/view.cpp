// The ledger has a row for a call only in the session that issued it.

#include "dispatch/view.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {
namespace {

// Whether the session by that id is still the one that issued the call.
Result<bool> has_intent(Store& store, const SessionId& session, const OpenCall& open) {
  auto entries = store.log().read(
      session, {.as_of = Point::position(open.call), .from = open.call, .to = open.call});
  if (!entries && entries.error().code == ErrorCode::not_found) return false;
  if (!entries) return forward(entries);
  if (entries->empty()) return false;
  // One that cannot be read here was read when it was shared.
  const auto intent = intent_from_json(entries->front().body.bytes());
  return !intent || intent->nonce == open.nonce;
}

}  // namespace

Result<std::vector<CallView>> open_calls(HeldSession& held) {
  std::vector<CallView> calls;
  for (const auto& [position, open] : held.state().open_calls) {
    auto row = held.world().store.ledger().read(held.lease().session, position);
    if (!row && row.error().code == ErrorCode::not_found) continue;
    if (!row) return forward(row);
    CallView view{.open = open, .row = *std::move(row)};
    // Out of a bundle it holds nothing, and its vendor knows it by that key all the same.
    if (view.row.claimed) view.row.key = view.row.claimed;
    view.tool = held.world().tools.find(open.tool);
    if (const auto text = args_of(held.state(), open)) {
      // The model may have written anything.
      if (auto args = parse_args(*text); args && args->is_object()) {
        view.args = std::make_shared<const Json>(*std::move(args));
      }
    }
    calls.push_back(std::move(view));
  }
  return calls;
}

Result<bool> has_unanswered(Store& store, const SessionId& session, const State& state) {
  for (const auto& [position, open] : state.open_calls) {
    if (open.is_told) continue;
    auto row = store.ledger().read(session, position);
    if (row) return true;
    if (row.error().code != ErrorCode::not_found) return forward(row);
  }
  return false;
}

Result<std::optional<Call>> find_issued(Store& store, SessionId session, const OpenCall& open) {
  std::vector<SessionId> seen{session};
  for (;;) {
    auto row = store.ledger().read(session, open.call);
    if (row) {
      auto is_it = seen.size() == 1 ? true : has_intent(store, session, open);
      if (!is_it) return forward(is_it);
      return *is_it ? std::optional(*std::move(row)) : std::nullopt;
    }
    if (row.error().code != ErrorCode::not_found) return forward(row);
    auto summary = store.sessions().read(session);
    if (!summary && summary.error().code != ErrorCode::not_found) return forward(summary);
    const bool shares_log = summary && summary->parent && summary->parent->lineage == Lineage::fork;
    if (!shares_log) return std::nullopt;
    session = summary->parent->session;
    // An id may be used again, also by a fork of its own descendant.
    if (std::ranges::find(seen, session) != seen.end()) return std::nullopt;
    seen.push_back(session);
  }
}

Result<std::optional<Call>> find_inherited(HeldSession& held, const OpenCall& open) {
  auto row = find_issued(held.world().store, held.lease().session, open);
  if (row && *row && (*row)->session == held.lease().session) return std::nullopt;
  return row;
}

std::string holder_name(const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  // Only what is left of a removed session has no arguments.
  if (holder.args != 0) return name;
  return fmt::format("{} of a session that was deleted since", name);
}

bool lost_a_claim(const Error& error, const std::vector<CallView>& dispatched) {
  const bool names_a_call = error.subject.find(':') != std::string::npos;
  if (error.code != ErrorCode::conflict || !names_a_call) return false;
  return !dispatched.empty() && std::ranges::none_of(dispatched, [&](const CallView& call) {
    return call_name(call.row.session, call.call()) == error.subject;
  });
}

}  // namespace perdure::dispatch
