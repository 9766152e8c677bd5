// The log knows who was asked. A session's status does not: one that is paused, or came out of a backup
// or a bundle, waits for the same words as before.

#include "context/calls.hpp"

#include <algorithm>
#include <array>

#include "context/command_context.hpp"
#include "context/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure::cli {
namespace {

// Without a state, because it cannot be read, the session's status alone tells whether anybody was asked.
bool is_asked(const Call& call, const SessionSummary& session, const State* state) {
  const bool is_known = state != nullptr && state->details->open_calls.contains(call.position);
  if (!is_known) return session.status == Status::waiting;
  const OpenCall& open = state->details->open_calls.at(call.position);
  const Approval* word = state->details->approvals.find(open.call, open.args_digest);
  return word != nullptr && word->decision == ApprovalDecision::asked;
}

// What a call without an outcome waits for, however its session stands; empty: for its turn, or for what
// is under way.
std::optional<Need> need_of(const Call& call, const SessionSummary& session, const State* state) {
  if (!session.moved_to.empty()) return std::nullopt;
  if (call.state == CallState::in_doubt) return Need::decision;
  if (call.state == CallState::dispatched) {
    const bool has_owner = session.holder && session.holder->alive;
    return has_owner ? std::nullopt : std::optional(Need::resume);
  }
  if (has_ended(session.status)) return std::nullopt;
  // Not made here, because a bundle says that it was.
  const OpenCall* open = state != nullptr ? find_open_call(*state, call.position) : nullptr;
  if (open != nullptr && open->doubt) return Need::decision;
  if (!is_asked(call, session, state)) return std::nullopt;
  return asks_people(call.tool) ? Need::answer : Need::approval;
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
    unmade.push_back({.call = std::move(call), .need = need});
  }
  return unmade;
}

PendingCall pending_of(const Call& call, Need need, const SessionSummary& session,
                       const State* state) {
  PendingCall pending{.call = call,
                      .need = need,
                      .title = session.title,
                      .opening = session.opening,
                      .why = call.why};
  const OpenCall* open = state != nullptr ? find_open_call(*state, call.position) : nullptr;
  if (open == nullptr) return pending;
  pending.args = args_of(*state, *open).value_or("");
  if (pending.why.empty()) pending.why = open->doubt.value_or("");
  return pending;
}

}  // namespace

std::string_view to_string(Need need) {
  static constexpr std::array<std::string_view, 4> names = {"decision", "resume", "approval",
                                                            "answer"};
  return names.at(std::to_underlying(need));
}

const OpenCall* find_open_call(const State& state, Position call) {
  const auto open = state.details->open_calls.find(call);
  return open == state.details->open_calls.end() ? nullptr : &open->second;
}

Result<std::vector<PendingCall>> read_pending(Store& store, const std::optional<SessionId>& only,
                                              std::optional<Error>* unread) {
  CallQuery query{.session = only,
                  .states = {CallState::intended, CallState::dispatched, CallState::in_doubt}};
  std::vector<PendingCall> pending;
  std::optional<SessionSummary> session;  // Of the last call.
  std::optional<State> state;             // Of that session; empty: it cannot be read.
  for (;;) {
    auto calls = store.ledger().list(query);
    if (!calls) return forward(calls);
    for (const Call& call : *calls) {
      if (!session || session->id != call.session) {
        auto row = store.sessions().read(call.session);
        if (!row) return forward(row);
        session = *std::move(row);
        auto read = read_state(store, call.session, {});
        if (!read && unread != nullptr && session->moved_to.empty()) *unread = read.error();
        state = read ? std::optional(*std::move(read)) : std::nullopt;
      }
      const State* known = state ? &*state : nullptr;
      const auto need = need_of(call, *session, known);
      if (need) pending.push_back(pending_of(call, *need, *session, known));
    }
    if (calls->size() < query.limit) return pending;
    query.after = CallId{calls->back().session, calls->back().position};
  }
}

Result<Call> find_call(Store& store, const std::string& text, const std::vector<Need>& needs) {
  const auto colon = text.rfind(':');
  const auto position =
      colon == std::string::npos ? std::nullopt : number_from(text.substr(colon + 1));
  auto session = find_session(store, position ? text.substr(0, colon) : text);
  if (!session) return forward(session);
  if (position) return store.ledger().read(session->id, static_cast<Position>(*position));
  auto pending = read_pending(store, session->id);
  if (!pending) return forward(pending);
  if (pending->empty() && std::ranges::find(needs, Need::approval) != needs.end()) {
    pending = read_unmade(store, session->id);
    if (!pending) return forward(pending);
  }
  return choose(text, *std::move(pending), needs);
}

RunVerb on_call(std::vector<Need> needs, CallVerb run) {
  return on_store([needs = std::move(needs), run = std::move(run)](CommandContext& context,
                                                                   Store& store) -> Result<Exit> {
    auto call = find_call(store, context.given().arguments.front(), needs);
    if (!call) return forward(call);
    return run(context, store, *call);
  });
}

std::string shown_call(const CommandContext& context, const Call& call) {
  return fmt::format("{}:{}", context.short_id(call.session.text()), call.position);
}

std::string settle_command(const CommandContext& context, std::string_view call) {
  return context.command(
      fmt::format("resolve {} --as succeeded|failed|retry|abandoned --reason \"…\"", call));
}

std::string allow_command(const CommandContext& context, std::string_view tool,
                          std::string_view call) {
  if (asks_people(tool)) return context.command(fmt::format("answer {} \"…\"", call));
  return fmt::format("{}, or {}", context.command(fmt::format("approve {}", call)),
                     context.command(fmt::format("deny {} --reason \"…\"", call)));
}

std::string asked_words(const State& state, Position call) {
  const OpenCall* const open = find_open_call(state, call);
  if (open == nullptr) return {};
  const std::string args(args_of(state, *open).value_or(""));
  if (!asks_people(open->tool)) return fmt::format("{} {}", open->tool, args);
  const auto parsed = parse_args(args);
  const std::string question = parsed ? text_in(*parsed, "question") : "";
  return question.empty() ? args : question;
}

bool asks_people(std::string_view tool) { return tool == "ask_user"; }

}  // namespace perdure::cli
