// A call that is refused has its row in the ledger too: what was asked for is not lost. What was
// started elsewhere is never run here: its outcome cannot be known.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

// Two reads are never one operation, unless the tool says so.
bool needs_key(const Tool& tool, EffectClass effect) {
  return effect != EffectClass::read_only || tool.repeat != Repeat::each_call;
}

// Fills in what the call is, as the draft's next intent. Why it cannot be made, in words; empty: it can.
std::string read_call(SessionWriter& writer, const ProposedCall& asked, Position call,
                      CallView& view) {
  const ToolCallBlock& block = asked.call();
  const SessionId& session = writer.lease().session;
  const Tool* const tool = asked.tool;
  view.tool = tool;
  view.open.tool = block.name;
  view.open.provider_id = block.id;
  view.open.nonce = writer.nonce();
  view.open.args_digest = sha256(block.args);
  if (tool != nullptr) view.open.repeat = to_string(tool->repeat);
  view.row = {.session = session, .tool = block.name, .provider_id = block.id};
  if (tool != nullptr) view.row.effect = effect_class_of(*tool);

  if (auto said = ask_policy(writer.deps().policy, writer.state(), asked)) {
    view.open.permission = *said;
    view.permission = *std::move(said);
  }
  view.is_put_off = !view.permission;
  if (view.permission && view.permission->permit == Permit::deny) return view.permission->why;
  if (tool == nullptr) return fmt::format("There is no tool {}.", block.name);
  auto args = parse_args(block.args);
  if (!args || !args->is_object()) return "The arguments are not a JSON object.";
  const auto& origin = writer.state().details->origin;
  auto operation = operation_of(*tool, *args,
                                {.session = session.text(),
                                 .call = call,
                                 .nonce = writer.nonce(),
                                 .root = origin ? origin->root : session.text(),
                                 .root_nonce = origin ? origin->nonce : ""});
  if (!operation) return operation.error().message;
  view.open.args_digest = operation->args;
  view.open.operation = operation->name;
  view.open.scope = operation->scope;
  if (needs_key(*tool, view.row.effect)) view.row.key = operation->key;
  view.args = std::make_shared<const Json>(*std::move(args));
  return {};
}

// The intent of one call, and its row in the ledger: for that block of the message, otherwise as the view
// has it. The view then has the intent's position.
void write_down(Draft& draft, CallView& view, Position message, std::uint64_t block) {
  view.open.message = message;
  view.open.block = block;
  view.open.call = draft.add(appending("calls", "intent", to_json(view.open)));
  view.row.position = view.open.call;
  view.row.args = message;
  // A model may make up any name and any id; the intent has them as they are.
  draft.batch.calls.emplace_back(
      Intend{.call = view.open.call,
             .args = message,
             .tool = row_name(view.open.tool),
             .provider_id = view.open.provider_id.substr(0, text_bytes_max),
             .effect = view.row.effect,
             .key = view.row.key});
}

}  // namespace

std::vector<CallView> intend(SessionWriter& writer, Draft& draft, Position message,
                             const Message& response) {
  std::vector<CallView> calls;
  std::vector<std::pair<CallView, std::string>> refused;
  for (std::size_t i = 0; i < response.blocks.size(); ++i) {
    const auto* block = std::get_if<ToolCallBlock>(&response.blocks[i]);
    if (block == nullptr) continue;
    CallView view;
    const Tool* const tool = writer.deps().tools.find(block->name);
    std::string why =
        read_call(writer, {.response = response, .block = i, .tool = tool}, draft.next(), view);
    write_down(draft, view, message, i);
    if (why.empty()) {
      calls.push_back(std::move(view));
    } else {
      refused.emplace_back(std::move(view), std::move(why));
    }
  }
  Records records(writer, draft);
  for (const auto& [view, why] : refused) records.refuse(view, why);
  return calls;
}

namespace {

const PlacedMessage* find_last_response(const State& state) {
  const auto last = std::ranges::find_if(
      state.transcript.rbegin(), state.transcript.rend(),
      [](const auto& placed) { return placed.message.role == Role::assistant; });
  return last == state.transcript.rend() || last->message.is_partial ? nullptr : &*last;
}

// Whose entry is at that position of the session's line.
Result<SessionId> owner_of(Store& store, const SessionId& session, Position position) {
  std::vector<SessionId> line{session};
  for (;;) {
    const SessionId at = line.back();
    auto parent = forked_from(store, line);
    if (!parent) return forward(parent);
    if (!*parent || position > (*parent)->position) return at;
  }
}

// The last of them whose arguments are in the response; 0: none.
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

std::size_t count_calls(const Message& message) {
  return static_cast<std::size_t>(std::ranges::count_if(message.blocks, [](const Block& block) {
    return std::holds_alternative<ToolCallBlock>(block);
  }));
}

Result<State> read_whole_step(Store& store, const SessionId& session, Point point,
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

Result<std::vector<CarriedCall>> carried_calls(Store& store, const SessionId& session,
                                               const State& state, bool fresh_effects) {
  std::vector<CarriedCall> calls;
  const PlacedMessage* const response = find_last_response(state);
  if (response == nullptr) return calls;
  for (const auto& [position, open] : state.details->open_calls) {
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
    CallView view{.open = state.details->open_calls.at(carried.call.position), .row = carried.call};
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
    Records(writer, draft).refuse(view, *result ? (*result)->content : carried->call.why);
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
        .tell({.open = state.details->open_calls.at(carried.call.position), .row = carried.call},
              carried.call.state, *result);
  }
  return {};
}

}  // namespace perdure::dispatch

namespace perdure {

std::string_view to_string(Carried as) {
  static constexpr std::array words = {
      std::pair{Carried::runs, std::string_view("runs")},
      std::pair{Carried::replays, std::string_view("replays")},
      std::pair{Carried::told, std::string_view("told")},
      std::pair{Carried::refused, std::string_view("refused")},
  };
  return values::word_of(words, as);
}

}  // namespace perdure
