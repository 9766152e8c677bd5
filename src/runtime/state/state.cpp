// The fold: one function for each kind of entry, which gets what was decoded and changes the state only
// where it can do all of it. And two states side by side: everything in them is sorted, so one walk over
// each is enough.

#include "perdure/runtime/state.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

// Why an entry was passed over; empty if it was not.
using Skip = std::optional<SkipReason>;

template <class Part>
void begin(Part& part, const Entry& entry) {
  if (entry.fold == Fold::replace) part = Part{};
}

OpenCall* find_open(State& state, Position call) {
  const auto found = state.details->open_calls.find(call);
  return found == state.details->open_calls.end() ? nullptr : &found->second;
}

Skip fold_intent(State& state, const Entry& entry, OpenCall intent) {
  begin(state.details->open_calls, entry);
  // A fork makes the call of its parent's message as one of its own.
  std::erase_if(state.details->open_calls, [&](const auto& open) {
    return intent.message != 0 && open.second.message == intent.message &&
           open.second.block == intent.block;
  });
  intent.call = entry.position;
  state.details->open_calls.insert_or_assign(entry.position, std::move(intent));
  return {};
}

Skip fold_attempt(State& state, const Entry& entry, Attempted attempt) {
  OpenCall* call = find_open(state, attempt.call);
  if (call == nullptr) return {};
  call->attempts = attempt.number;
  call->key_generation = attempt.key_generation;
  if (attempt.none_landed) call->not_landed = attempt.number - 1;
  if (!call->first_attempt) call->first_attempt = entry.at;
  call->worker = std::move(attempt.worker);
  call->doubt.reset();
  call->ended_at.reset();
  call->is_told = false;
  call->is_retried = false;
  return {};
}

Skip fold_doubt(State& state, const Entry& entry, Doubt doubt) {
  OpenCall* call = find_open(state, doubt.call);
  if (call == nullptr) return {};
  call->doubt = std::move(doubt.why);
  if (doubt.has_ended && !call->ended_at) call->ended_at = entry.at;
  return {};
}

// It ends the doubt. The call itself is ended by its result, or continues.
Skip fold_resolution(State& state, const Entry& /*entry*/, const Resolution& resolution) {
  OpenCall* call = find_open(state, resolution.call);
  if (call == nullptr) return {};
  call->doubt.reset();
  call->is_retried = resolution.decision == "retry";
  return {};
}

// For people: nothing follows from it.
Skip fold_evidence(State& /*state*/, const Entry& /*entry*/, const Evidence& /*evidence*/) {
  return {};
}

void settle_calls(State& state, const Message& message) {
  if (message.is_partial) return;
  for (const Block& block : message.blocks) {
    const auto* result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr) continue;
    const auto outcome = outcome_of(*result);
    const auto call =
        outcome ? state.details->open_calls.find(outcome->call) : state.details->open_calls.end();
    if (call == state.details->open_calls.end()) continue;
    call->second.is_told = true;
    if (outcome->is_final()) state.details->open_calls.erase(call);
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

Skip fold_message(State& state, const Entry& entry, Message message) {
  begin(state.transcript, entry);
  // The answer is there, whole or cut off.
  if (message.role == Role::assistant) state.details->request.reset();
  settle_calls(state, message);
  state.transcript.push_back({entry.position, std::move(message)});
  return {};
}

template <auto member, class Value>
Skip fold_value(State& state, const Entry& /*entry*/, Value value) {
  state.*member = std::move(value);
  return {};
}

template <auto member, class Value>
Skip fold_detail(State& state, const Entry& /*entry*/, Value value) {
  state.details.operator->()->*member = std::move(value);
  return {};
}

Skip fold_agent(State& state, const Entry& /*entry*/, AgentChange change) {
  if (!state.details->origin) return SkipReason::refused;
  state.details->origin->agent_digest = std::move(change.agent_digest);
  return {};
}

// Paid, given up, or known to be lost: that answer is not awaited any more.
bool ends_request(const BudgetEntry& entry, const std::optional<OpenRequest>& request) {
  const bool ends = entry.change == BudgetChange::spend ||
                    entry.change == BudgetChange::unconfirmed ||
                    entry.change == BudgetChange::release;
  return ends && request && !entry.subject.empty() && request->request.reservation == entry.subject;
}

Skip fold_budget(State& state, const Entry& entry, const BudgetEntry& change) {
  const Skip skip = fold_part(state.budget, entry,
                              [&](Budget& budget) { return replay(budget, change).has_value(); });
  if (!skip && ends_request(change, state.details->request)) state.details->request.reset();
  return skip;
}

Skip fold_request(State& state, const Entry& entry, Request request) {
  state.details->request = OpenRequest{.position = entry.position, .request = std::move(request)};
  return {};
}

Skip end_request(State& state, const Entry& /*entry*/, const Request& /*request*/) {
  state.details->request.reset();
  return {};
}

// What people decided about calls before that counts no more.
Skip void_decisions(State& state, const Entry& /*entry*/) {
  state.details->approvals.forget_given();
  for (auto& [position, call] : state.details->open_calls) call.is_retried = false;
  return {};
}

Skip fold_approval(State& state, const Entry& entry, Approval approval) {
  // A decision follows its call in the log.
  if (entry.position <= approval.call) return SkipReason::refused;
  return fold_part(state.details->approvals, entry, [&](Approvals& approvals) {
    return approvals.apply(std::move(approval)).has_value();
  });
}

Skip fold_note(State& state, const Entry& entry, ScratchEntry change) {
  return fold_part(state.scratchpad, entry, [&](Scratchpad& scratchpad) {
    return apply(scratchpad, std::move(change)).has_value();
  });
}

Skip fold_spawn(State& state, const Entry& entry, const ChildSpawn& spawn) {
  state.details->children[spawn.child] = {.spawned = entry.position,
                                          .limit_micros = spawn.limit_micros};
  return {};
}

Skip fold_result(State& state, const Entry& /*entry*/, ChildEnd end) {
  const auto child = state.details->children.find(end.child);
  if (child == state.details->children.end()) return SkipReason::refused;
  child->second.end = std::move(end);
  return {};
}

Skip fold_status(State& state, const Entry& entry, StatusNote note) {
  note.position = entry.position;
  state.details->status = std::move(note);
  return {};
}

// What came in is known by what the session made of it, on the other channels; a note's blob entry
// only keeps the blob alive.
Skip pass(State& /*state*/, const Entry& /*entry*/) { return {}; }

// The entry's body as `read` makes a value of it, folded by `take`.
template <auto read, auto take>
Skip decoded(State& state, const Entry& entry) {
  auto value = [&] {
    if constexpr (requires { read(entry.kind, entry.body.bytes()); }) {
      return read(entry.kind, entry.body.bytes());
    } else {
      return read(entry.body.bytes());
    }
  }();
  if (value) return take(state, entry, *std::move(value));
  return value.error().code == ErrorCode::unsupported ? SkipReason::newer : SkipReason::unreadable;
}

struct Record {
  std::string_view channel;
  std::string_view kind;  // Empty: any.
  Skip (*fold)(State& state, const Entry& entry);
};

constexpr auto fold_approvals = decoded<approval_from_json, fold_approval>;
constexpr auto fold_notes = decoded<scratch_entry_from_json, fold_note>;

constexpr std::array records = {
    Record{"transcript", "message", decoded<message_from_json, fold_message>},
    Record{"setup", "setup", decoded<setup_from_json, fold_value<&State::setup, Setup>>},
    Record{"plan", "plan", decoded<plan_from_json, fold_value<&State::plan, Plan>>},
    Record{"budget", "", decoded<budget_entry_from_json, fold_budget>},
    Record{"counters", "counters",
           decoded<counters_from_json, fold_value<&State::counters, Counters>>},
    Record{"requests", "request", decoded<request_from_json, fold_request>},
    Record{"requests", "lost", decoded<request_from_json, end_request>},
    Record{"requests", "withdrawn", decoded<request_from_json, end_request>},
    Record{"calls", "intent", decoded<intent_from_json, fold_intent>},
    Record{"calls", "attempt", decoded<attempt_from_json, fold_attempt>},
    Record{"calls", "doubt", decoded<doubt_from_json, fold_doubt>},
    Record{"calls", "evidence", decoded<evidence_from_json, fold_evidence>},
    Record{"calls", "resolution", decoded<resolution_from_json, fold_resolution>},
    Record{"approvals", voided_kind, void_decisions},
    Record{"approvals", "", fold_approvals},
    Record{"scratchpad", "blob", pass},
    Record{"scratchpad", "set", fold_notes},
    Record{"scratchpad", "delete", fold_notes},
    Record{"inbox", "", pass},
    Record{"origin", "origin",
           decoded<origin_from_json, fold_detail<&StateDetails::origin, Origin>>},
    Record{"origin", "agent", decoded<agent_change_from_json, fold_agent>},
    Record{"children", "spawn", decoded<child_spawn_from_json, fold_spawn>},
    Record{"children", "result", decoded<child_end_from_json, fold_result>},
    Record{"children", "end",
           decoded<child_end_from_json, fold_detail<&StateDetails::end, ChildEnd>>},
    Record{"status", "", decoded<status_note_from_json, fold_status>},
};

Skip fold_user(State& state, const Entry& entry) {
  std::vector<ChannelItem>& items = state.channels[entry.channel];
  begin(items, entry);
  items.push_back({entry.position, entry.kind, entry.body});
  return {};
}

// The budget and the approvals have a kind for each of their changes.
bool is_known_kind(const Entry& entry) {
  if (entry.channel == "budget") return budget_change_from(entry.kind).has_value();
  if (entry.channel == "approvals") return approval_decision_from(entry.kind).has_value();
  return true;
}

Skip take_in(State& state, const Entry& entry) {
  if (entry.condition == Condition::erased) return SkipReason::erased;
  if (entry.condition == Condition::damaged) return SkipReason::damaged;
  if (!is_reserved(entry.channel)) return fold_user(state, entry);
  const auto* const record = std::ranges::find_if(records, [&](const Record& known) {
    return known.channel == entry.channel && (known.kind.empty() || known.kind == entry.kind);
  });
  const bool is_known = record != records.end() && (!record->kind.empty() || is_known_kind(entry));
  if (!is_known) return SkipReason::other_kind;
  if (entry.body.codec() == Codec::blob && record->fold != pass) return SkipReason::blob;
  return record->fold(state, entry);
}

}  // namespace

DetailsOfState::DetailsOfState() : details_(std::make_unique<StateDetails>()) {}
DetailsOfState::~DetailsOfState() = default;
DetailsOfState::DetailsOfState(const DetailsOfState& other)
    : details_(std::make_unique<StateDetails>(*other.details_)) {}
DetailsOfState::DetailsOfState(DetailsOfState&& other) noexcept : DetailsOfState() {
  details_.swap(other.details_);
}
DetailsOfState& DetailsOfState::operator=(DetailsOfState other) noexcept {
  details_.swap(other.details_);
  return *this;
}
bool DetailsOfState::operator==(const DetailsOfState& other) const {
  return *details_ == *other.details_;
}

void fold(State& state, const Entry& entry) {
  state.head = entry.position;
  ++state.entries;
  state.totals += entry.tally;
  if (const Skip skip = take_in(state, entry)) {
    state.details->skipped.push_back({entry.position, entry.channel, *skip});
    // It may have said that the effects are other ones from there on.
    const bool may_be_other = entry.channel == "origin" && entry.fold == Fold::replace;
    if (may_be_other && state.details->origin) state.details->origin->nonce.clear();
    // It may have said that earlier decisions no longer count: people can be asked again.
    const bool is_gone = *skip == SkipReason::damaged || *skip == SkipReason::erased;
    if (is_gone && (entry.channel == "approvals" || entry.channel.empty())) {
      void_decisions(state, entry);
    }
  }
}

bool is_reserved(std::string_view channel) {
  return std::ranges::find(records, channel, &Record::channel) != records.end();
}

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

namespace {

// Tells `meet` of all that is in a or b, in order: null is what one of them does not have.
template <class List, class Key, class Meet>
void walk_both(const List& a, const List& b, Key key, Meet meet) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool is_left = left != a.end() && (right == b.end() || key(*left) <= key(*right));
    const bool is_right = right != b.end() && (left == a.end() || key(*right) <= key(*left));
    meet(is_left ? &*left : nullptr, is_right ? &*right : nullptr);
    if (is_left) ++left;
    if (is_right) ++right;
  }
}

// The keys of two maps whose values differ, or that only one of them has.
template <class Map>
std::vector<std::string> changed_keys(const Map& a, const Map& b) {
  std::vector<std::string> keys;
  const auto key_of = [](const auto& item) -> const std::string& { return item.first; };
  walk_both(a, b, key_of, [&](const auto* left, const auto* right) {
    const bool is_same = left && right && left->second == right->second;
    if (!is_same) keys.push_back(left ? left->first : right->first);
  });
  return keys;
}

}  // namespace

Difference diff(const State& a, const State& b) {
  Difference out;
  const auto position_of = [](const PlacedMessage& placed) { return placed.position; };
  walk_both(a.transcript, b.transcript, position_of, [&](const auto* left, const auto* right) {
    if (left && right && left->message == right->message) return;
    if (left) out.messages_removed.push_back(left->position);
    if (right) out.messages_added.push_back(right->position);
  });
  out.is_setup_changed = a.setup != b.setup;
  out.is_plan_changed = a.plan != b.plan;
  out.is_budget_changed = a.budget != b.budget;
  out.counters = changed_keys(a.counters.values, b.counters.values);
  out.scratchpad = changed_keys(a.scratchpad.values, b.scratchpad.values);
  out.channels = changed_keys(a.channels, b.channels);
  return out;
}

}  // namespace perdure
