// What was begun elsewhere is never run here: nobody can tell what it came to.

#include "dispatch/carried.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "dispatch/intents.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/key.hpp"
#include "runtime/api/recorded.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

const PlacedMessage* find_last_response(const State& state) {
  const auto last = std::ranges::find_if(
      state.transcript.rbegin(), state.transcript.rend(),
      [](const auto& placed) { return placed.message.role == Role::assistant; });
  return last == state.transcript.rend() || last->message.is_partial ? nullptr : &*last;
}

std::size_t count_calls(const Message& message) {
  return static_cast<std::size_t>(std::ranges::count_if(message.blocks, [](const Block& block) {
    return std::holds_alternative<ToolCallBlock>(block);
  }));
}

// Whose entry is at that position of the session's line.
Result<SessionId> owner_of(Store& store, SessionId session, Position position) {
  std::vector<SessionId> seen;
  while (std::ranges::find(seen, session) == seen.end()) {
    seen.push_back(session);
    auto row = store.sessions().read(session);
    if (!row && row.error().code == ErrorCode::not_found) break;
    if (!row) return forward(row);
    const bool is_shared =
        row->parent && row->parent->lineage == Lineage::fork && position <= row->parent->position;
    if (!is_shared) break;
    session = row->parent->session;
  }
  return session;
}

// The last of them that stands for the response; 0: none.
Position last_for(const std::vector<Call>& calls, Position response) {
  Position last = 0;
  for (const Call& call : calls) {
    if (call.args == response) last = std::max(last, call.position);
  }
  return last;
}

// Of the session that the response is of; 0: the line to the session does not have it.
Result<Position> find_first_intents(Store& store, const SessionId& session,
                                    const PlacedMessage& response) {
  auto owner = owner_of(store, session, response.position);
  if (!owner) return forward(owner);
  auto calls = store.ledger().list({.session = *owner,
                                    .after = CallId{*owner, response.position},
                                    .limit = count_calls(response.message)});
  if (!calls && calls.error().code == ErrorCode::not_found) return Position{0};
  if (!calls) return forward(calls);
  const Position last = last_for(*calls, response.position);
  auto owner_there = owner_of(store, session, last);
  if (!owner_there) return forward(owner_there);
  return *owner_there == *owner ? last : Position{0};
}

// Where the intents of the response end; 0: nowhere. `prefers_own`: those of the session itself, if it
// has made the calls of a response that it shares.
Result<Position> find_last_intent(Store& store, const SessionId& session,
                                  const PlacedMessage& response, bool prefers_own) {
  if (count_calls(response.message) == 0) return Position{0};
  if (prefers_own) {
    auto own = store.ledger().list(
        {.session = session, .after = CallId{session, response.position}, .limit = limit_max});
    if (!own) return forward(own);
    if (const Position last = last_for(*own, response.position); last != 0) return last;
  }
  return find_first_intents(store, session, response);
}

Result<State> read_with_intents(Store& store, const SessionId& session, Point point,
                                bool prefers_own) {
  auto state = read_state(store, session, point);
  if (!state) return state;
  const PlacedMessage* const response = find_last_response(*state);
  if (response == nullptr) return state;
  auto last = find_last_intent(store, session, *response, prefers_own);
  if (!last) return forward(last);
  if (*last <= state->head) return state;
  return read_state(store, session, Point::position(*last));
}

bool is_begun(const Call& call) {
  return call.state == CallState::dispatched || call.state == CallState::in_doubt ||
         call.state == CallState::abandoned;
}

std::optional<Digest> row_key(const Call& call) { return call.key ? call.key : call.claimed; }

// Whether its key is another one in the fork.
bool is_made_anew(const OpenCall& open, bool fresh_effects) {
  const Repeat repeat = repeat_from(open.repeat).value_or(Repeat::each_call);
  return repeat == Repeat::each_call || (repeat == Repeat::once_per_session && fresh_effects);
}

Result<Carried> fate_of(Store& store, const Call& call, const OpenCall& open, bool fresh_effects) {
  if (is_begun(call)) return Carried::told;
  const auto key = row_key(call);
  // Only one that could not even be read as an operation has none.
  const bool is_refused = call.state == CallState::denied && !key;
  if (is_refused && call.effect != EffectClass::read_only) return Carried::refused;
  if (!key || is_made_anew(open, fresh_effects)) return Carried::runs;
  auto holder = store.ledger().find_holder(*key);
  if (!holder) return forward(holder);
  const bool is_done = *holder && (*holder)->state == CallState::succeeded;
  return is_done ? Carried::replays : Carried::runs;
}

// Nothing of it changes with time or from one telling to the next.
std::string told_of(const Call& call) {
  if (call.session.empty()) {
    return "[outcome unknown: the record of this call is gone with the session that was to make "
           "it. "
           "It may have taken effect: do not make it again.]";
  }
  const std::string where = call_name(call.session, call.position);
  if (call.state == CallState::abandoned) {
    return fmt::format(
        "[outcome unknown: this call was made as {}, by the session that this one was forked from, "
        "and given up there. It may have taken effect: do not make it again.]",
        where);
  }
  return fmt::format(
      "[outcome unknown: this call was made as {}, by the session that this one was forked from, "
      "and its outcome was not known there when this was written. {}]",
      where,
      call.effect == EffectClass::read_only
          ? "It only reads: ask for it again if you need its result."
          : "It may have taken effect: do not make it again.");
}

void tell(SessionWriter& writer, Draft& draft, const CallView& view) {
  const bool is_open = !view.row.session.empty() && view.row.state != CallState::abandoned;
  Records(writer, draft)
      .tell(view, is_open ? CallState::in_doubt : CallState::abandoned,
            {.content = told_of(view.row), .is_error = true});
}

// A call of this session, for what another one was to do.
CallView take_over(SessionWriter& writer, Draft& draft, const CallView& of, const Origin* fresh) {
  CallView view{.open = {.tool = of.open.tool,
                         .provider_id = of.open.provider_id,
                         .args_digest = of.open.args_digest,
                         .operation = of.open.operation,
                         .repeat = of.open.repeat,
                         .scope = of.open.scope,
                         .nonce = writer.nonce(),
                         .permission = of.open.permission},
                .row = {.session = writer.lease().session,
                        .tool = of.row.tool,
                        .provider_id = of.row.provider_id,
                        .effect = of.row.effect,
                        .key = row_key(of.row)}};
  if (is_made_anew(of.open, fresh != nullptr)) {
    const Operation operation = operation_in(of.open, {.session = writer.lease().session.text(),
                                                       .call = draft.next(),
                                                       .nonce = writer.nonce(),
                                                       .root = fresh ? fresh->root : "",
                                                       .root_nonce = fresh ? fresh->nonce : ""});
    view.open.scope = operation.scope;
    if (view.row.key) view.row.key = operation.key;
  }
  write_down(draft, view, of.open.message, of.open.block);
  return view;
}

}  // namespace

Result<State> read_whole_step(Store& store, const SessionId& session, Point point) {
  return read_with_intents(store, session, point, false);
}

Result<State> read_own_step(Store& store, const SessionId& session, Point point) {
  return read_with_intents(store, session, point, true);
}

Result<std::vector<CarriedCall>> carried_calls(Store& store, const SessionId& session,
                                               const State& state, bool fresh_effects) {
  std::vector<CarriedCall> calls;
  const PlacedMessage* const response = find_last_response(state);
  if (response == nullptr) return calls;
  for (const auto& [position, open] : state.open_calls) {
    if (open.message != response->position || open.is_told) continue;
    auto row = find_issued(store, session, open);
    if (!row) return forward(row);
    if (!*row) {
      calls.push_back({.call = {.position = position, .tool = open.tool}, .as = Carried::told});
      continue;
    }
    auto as = fate_of(store, **row, open, fresh_effects);
    if (!as) return forward(as);
    calls.push_back({.call = **std::move(row), .as = *as});
  }
  return calls;
}

Result<void> carry(SessionWriter& writer, Draft& draft, const State& state,
                   std::vector<CarriedCall>& calls, const Origin* fresh) {
  std::vector<std::pair<CallView, const CarriedCall*>> told;
  for (CarriedCall& carried : calls) {
    CallView view{.open = state.open_calls.at(carried.call.position), .row = carried.call};
    if (carried.as != Carried::told) {
      view = take_over(writer, draft, view, fresh);
      carried.position = view.call();
    }
    if (carried.as == Carried::told || carried.as == Carried::refused) {
      told.emplace_back(std::move(view), &carried);
    }
  }
  // Results follow all intents, as they do after a response.
  for (const auto& [view, carried] : told) {
    if (carried->as == Carried::told) {
      tell(writer, draft, view);
      continue;
    }
    auto result = recorded_result(writer.deps().store, carried->call);
    if (!result) return forward(result);
    const std::string why = *result ? (*result)->text : carried->call.why;
    Records(writer, draft)
        .settle(view, CallState::denied, {.content = why, .is_error = true},
                {.who = "dispatcher", .why = why});
  }
  return {};
}

Result<void> carry_back(SessionWriter& writer, Draft& draft, const State& state) {
  Store& store = writer.deps().store;
  auto calls = carried_calls(store, writer.lease().session, state, false);
  if (!calls) return forward(calls);
  std::erase_if(*calls, [&](const CarriedCall& carried) {
    return carried.call.session == writer.lease().session;
  });
  std::vector<CarriedCall> known;
  std::erase_if(*calls, [&](const CarriedCall& carried) {
    const bool is_known = carried.as != Carried::told && carried.call.state != CallState::intended;
    if (is_known) known.push_back(carried);
    return is_known;
  });
  if (auto carried = carry(writer, draft, state, *calls, nullptr); !carried) return carried;
  for (const CarriedCall& carried : known) {
    auto result = told_result(store, carried.call);
    if (!result) return forward(result);
    Records(writer, draft)
        .tell({.open = state.open_calls.at(carried.call.position), .row = carried.call},
              carried.call.state, {.content = result->text, .is_error = result->is_error});
  }
  return {};
}

}  // namespace perdure::dispatch
