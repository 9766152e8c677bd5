// The ledger has a row for a call only in the session that issued it. Entries are looked up one by
// one: a call is read this way only when another one has its key. The kinds of channel `calls` are
// those of calls.hpp.

#include "dispatch/calls.hpp"

#include <algorithm>
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

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"
#include "writer/session_writer.hpp"

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

Result<std::vector<CallView>> open_calls(Store& store, const SessionId& session, const State& state,
                                         const Tools& tools) {
  std::vector<CallView> calls;
  for (const auto& [position, open] : state.details->open_calls) {
    auto row = store.ledger().read(session, position);
    if (!row && row.error().code == ErrorCode::not_found) continue;
    if (!row) return forward(row);
    CallView view{.open = open, .row = *std::move(row)};
    // Out of a bundle it holds nothing, and its vendor knows it by that key all the same.
    if (view.row.claimed) view.row.key = view.row.claimed;
    view.tool = tools.find(open.tool);
    if (const auto text = args_of(state, open)) {
      // The model may have written anything.
      if (auto args = parse_args(*text); args && args->is_object()) {
        view.args = std::make_shared<const Json>(*std::move(args));
      }
    }
    calls.push_back(std::move(view));
  }
  return calls;
}

Result<std::vector<CallView>> open_calls(const SessionWriter& writer) {
  return open_calls(writer.deps().store, writer.lease().session, writer.state(),
                    writer.deps().tools);
}

bool is_settled(CallState state) {
  return state != CallState::intended && state != CallState::dispatched &&
         state != CallState::in_doubt;
}

Result<bool> has_unanswered(Store& store, const SessionId& session, const State& state) {
  for (const auto& [position, open] : state.details->open_calls) {
    if (open.is_told) continue;
    auto row = store.ledger().read(session, position);
    if (row) return true;
    if (row.error().code != ErrorCode::not_found) return forward(row);
  }
  return false;
}

Result<std::optional<Parent>> forked_from(Store& store, std::vector<SessionId>& line) {
  auto row = store.sessions().read(line.back());
  if (!row && row.error().code == ErrorCode::not_found) return std::nullopt;
  if (!row) return forward(row);
  if (!row->parent || row->parent->lineage != Lineage::fork) return std::nullopt;
  if (std::ranges::find(line, row->parent->session) != line.end()) return std::nullopt;
  line.push_back(row->parent->session);
  return std::move(row->parent);
}

Result<std::optional<Call>> find_issued(Store& store, SessionId session, const OpenCall& open) {
  std::vector<SessionId> line{std::move(session)};
  for (;;) {
    auto row = store.ledger().read(line.back(), open.call);
    if (row) {
      auto is_it = line.size() == 1 ? true : has_intent(store, line.back(), open);
      if (!is_it) return forward(is_it);
      return *is_it ? std::optional(*std::move(row)) : std::nullopt;
    }
    if (row.error().code != ErrorCode::not_found) return forward(row);
    auto parent = forked_from(store, line);
    if (!parent) return forward(parent);
    if (!*parent) return std::nullopt;
  }
}

Result<std::optional<Call>> find_inherited(Store& store, const SessionId& session,
                                           const OpenCall& open) {
  auto row = find_issued(store, session, open);
  if (row && *row && (*row)->session == session) return std::nullopt;
  return row;
}

bool lost_a_claim(const Error& error, const std::vector<CallView>& dispatched) {
  const bool names_a_call = error.subject.find(':') != std::string::npos;
  if (error.code != ErrorCode::conflict || !names_a_call) return false;
  return !dispatched.empty() && std::ranges::none_of(dispatched, [&](const CallView& call) {
    return call_name(call.row.session, call.call()) == error.subject;
  });
}

namespace {

// Empty: erased, damaged, pruned, or gone with its session.
Result<std::optional<Entry>> find_entry(Store& store, const SessionId& session, Position place) {
  if (place == 0) return std::nullopt;
  auto found = store.log().read(
      session, {.as_of = Point::position(place), .from = place, .to = place, .limit = 1});
  if (!found && found.error().code == ErrorCode::not_found) return std::nullopt;
  if (!found) return forward(found);
  if (found->empty()) return std::nullopt;
  Entry entry = std::move(found->front());
  if (auto loaded = load_blob(store.blobs(), entry); !loaded) return forward(loaded);
  if (entry.condition != Condition::intact) return std::nullopt;
  return entry;
}

std::optional<Told> result_in(const Entry& entry, const Call& call) {
  if (entry.channel == book_channel) return Told{entry.body.bytes(), entry.kind == book_error_kind};
  auto message = message_from_json(entry.body.bytes());
  if (!message) return std::nullopt;
  for (Block& block : message->blocks) {
    auto* result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr) continue;
    const auto outcome = outcome_of(*result);
    if (outcome && outcome->call == call.position) {
      return Told{std::move(result->content), result->is_error};
    }
  }
  return std::nullopt;
}

// Which block it was, the intent says: a provider may give all calls of a message one id. Where it
// cannot be read, the id has to do.
const ToolCallBlock* find_asked(const Message& message, const Call& call,
                                const std::optional<OpenCall>& intent) {
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    const auto* block = std::get_if<ToolCallBlock>(&message.blocks[i]);
    const bool is_it = intent ? i == intent->block : block && block->id == call.provider_id;
    if (is_it) return block;
  }
  return nullptr;
}

std::optional<OpenCall> intent_in(const std::optional<Entry>& entry) {
  if (!entry) return std::nullopt;
  auto intent = intent_from_json(entry->body.bytes());
  return intent ? std::optional(*std::move(intent)) : std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> recorded_args(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.args);
  if (!entry) return forward(entry);
  if (!*entry) return std::nullopt;
  if ((*entry)->channel == book_channel) return (*entry)->body.bytes();
  auto intended = find_entry(store, call.session, call.position);
  if (!intended) return forward(intended);
  auto intent = intent_in(*intended);
  if (intent && intent->args) return std::move(intent->args);
  const auto message = message_from_json((*entry)->body.bytes());
  const ToolCallBlock* block = message ? find_asked(*message, call, intent) : nullptr;
  return block != nullptr ? std::optional(block->args) : std::nullopt;
}

Result<std::optional<Told>> recorded_result(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.result.value_or(0));
  if (!entry) return forward(entry);
  return *entry ? result_in(**entry, call) : std::nullopt;
}

Result<std::optional<std::int64_t>> recorded_generation(Store& store, const Call& call) {
  auto issued = find_entry(store, call.session, call.position);
  if (!issued) return forward(issued);
  if (!*issued || (*issued)->channel != book_channel) return std::nullopt;
  auto next = find_entry(store, call.session, call.position + 1);
  if (!next) return forward(next);
  const bool is_there =
      *next && (*next)->channel == book_channel && (*next)->kind == book_generation_kind;
  const auto number = is_there ? parse_json((*next)->body.bytes()) : Result<Json>(Json(0));
  return number ? number->as_int64() : std::nullopt;
}

Result<Told> told_result(Store& store, const Call& call) {
  auto result = recorded_result(store, call);
  if (!result) return forward(result);
  return std::move(*result).value_or(
      Told{.content = "This call was made; its result is no longer kept."});
}

Position Records::add_result(const CallView& call, CallState state, const Told& told) {
  ToolResultBlock block{
      .call_id = call.open.provider_id, .content = told.content, .is_error = told.is_error};
  set_outcome(block, {.call = call.call(), .state = state});
  if (!told.replay_of.empty()) {
    block.unknown.emplace_back("replay_of", RawJson::from_value(Json(told.replay_of)));
  }
  Message message{.id = mint<MessageTag>(writer_.deps().ids).text(),
                  .role = Role::user,
                  .created_at = writer_.deps().clock.now()};
  message.blocks.emplace_back(std::move(block));
  NewEntry entry = appending("transcript", "message", to_json(message));
  entry.tally.steps = 1;
  return draft_.add(std::move(entry));
}

void Records::settle(const CallView& call, CallState state, const Told& told,
                     const Reason& reason) {
  const Position result = add_result(call, state, told);
  draft_.batch.calls.emplace_back(Settle{
      .call = call.call(), .state = state, .result = result, .who = reason.who, .why = reason.why});
}

void Records::settle_landed(const CallView& call, const Landed& landed) {
  settle(call, CallState::succeeded, {.content = landed.content, .is_error = landed.is_error},
         {.who = "verify", .why = "it took effect"});
}

void Records::answer(const CallView& call, const SessionAnswer& answer) {
  for (const SessionChange& change : answer.changes) {
    if (const auto* plan = std::get_if<Plan>(&change)) {
      draft_.add(replacing("plan", "plan", to_json(*plan)));
    } else {
      const auto& note = std::get<ScratchEntry>(change);
      draft_.add(appending("scratchpad", std::string(kind_of(note)), to_json(note)));
    }
  }
  settle(call, CallState::succeeded, {.content = answer.content, .is_error = answer.is_error});
}

void Records::refuse(const CallView& call, const std::string& why) {
  settle(call, CallState::denied, {.content = why, .is_error = true},
         {.who = "dispatcher", .why = why});
}

void Records::doubt(const CallView& call, const std::string& why, bool has_ended) {
  draft_.add(appending("calls", "doubt",
                       to_json(Doubt{.call = call.call(), .why = why, .has_ended = has_ended})));
  if (call.row.state == CallState::in_doubt) return;
  draft_.batch.calls.emplace_back(
      Settle{.call = call.call(), .state = CallState::in_doubt, .why = why});
}

void Records::tell_doubt(const CallView& call, const std::string& why) {
  add_result(call, CallState::in_doubt,
             {.content = fmt::format("The outcome of this call is unknown: {}. It may have taken "
                                     "effect. Do not make it again.",
                                     why),
              .is_error = true});
}

void Records::dispatch(const CallView& call, std::int64_t key_generation, bool none_landed) {
  if (call.row.state == CallState::dispatched) {
    draft_.batch.calls.emplace_back(Settle{.call = call.call(),
                                           .state = CallState::in_doubt,
                                           .why = "its attempt ended without an answer"});
  }
  draft_.add(appending("calls", "attempt",
                       to_json(Attempted{.call = call.call(),
                                         .number = call.row.attempts + 1,
                                         .worker = writer_.lease().worker.text(),
                                         .key_generation = key_generation,
                                         .none_landed = none_landed})));
  const Approval* const word =
      writer_.state().details->approvals.find(call.call(), call.open.args_digest);
  if (word != nullptr && word->decision == ApprovalDecision::given) {
    Approval used = *word;
    used.decision = ApprovalDecision::used;
    used.at = writer_.deps().clock.now();
    draft_.add(entry_of(used));
  }
  Dispatch change{.call = call.call()};
  if (call.tool != nullptr) change.deadline = writer_.deps().clock.now() + call.tool->timeout;
  draft_.batch.calls.emplace_back(change);
}

void Records::evidence(const CallView& call, const std::string& text) {
  draft_.add(appending("calls", "evidence", to_json(Evidence{.call = call.call(), .text = text})));
}

void Records::resolution(const CallView& call, std::string_view decision, const Reason& reason) {
  draft_.add(appending("calls", "resolution",
                       to_json(Resolution{.call = call.call(),
                                          .decision = std::string(decision),
                                          .who = reason.who,
                                          .why = reason.why})));
}

}  // namespace perdure::dispatch

namespace perdure {
namespace {

bool is_made_again(Store& store, const SessionId& session, const Call& call) {
  if (call.effect == EffectClass::read_only) return false;
  const auto intent =
      store.log().read(session, {.as_of = Point::position(call.position), .from = call.position});
  if (!intent || intent->empty()) return true;
  const auto read = intent_from_json(intent->front().body.bytes());
  return !read || read->repeat == to_string(Repeat::each_call);
}

Result<void> add_effects(Store& store, const SessionId& session, Position position,
                         std::vector<Call>& again) {
  auto calls = store.ledger().list({.session = session,
                                    .states = {CallState::dispatched, CallState::succeeded,
                                               CallState::in_doubt, CallState::abandoned},
                                    .after = CallId{session, position},
                                    .limit = limit_max});
  if (!calls) return forward(calls);
  for (Call& call : *calls) {
    if (is_made_again(store, session, call)) again.push_back(std::move(call));
  }
  return {};
}

}  // namespace

Result<std::vector<Call>> effects_after(Store& store, const SessionId& session, Position position) {
  std::vector<Call> again;
  std::vector<SessionId> line{session};
  for (;;) {
    if (auto added = add_effects(store, line.back(), position, again); !added) {
      return forward(added);
    }
    auto parent = dispatch::forked_from(store, line);
    if (!parent) return forward(parent);
    // Past the point where it left its parent, its line has nothing of that one.
    if (!*parent || position >= (*parent)->position) return again;
  }
}

}  // namespace perdure
