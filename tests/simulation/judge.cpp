// Each rule is a sentence of DESIGN 3.4 or of docs/guarantees.md.

#include "simulation/judge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/writer/session_writer.hpp"
#include "simulation/books.hpp"
#include "simulation/world.hpp"

namespace perdure::simulation {
namespace {

std::vector<std::string> calls_in(const Message& message) {
  std::vector<std::string> ids;
  for (const Block& block : message.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) ids.push_back(call->id);
  }
  return ids;
}

// Those that open the message; `strays` counts results that stand elsewhere.
std::vector<std::string> results_in(const Message& message, std::size_t& strays) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    const auto* result = std::get_if<ToolResultBlock>(&message.blocks[i]);
    if (result == nullptr) continue;
    if (ids.size() != i) ++strays;
    ids.push_back(result->call_id);
  }
  return ids;
}

bool is_settled(CallState state) {
  return state != CallState::intended && state != CallState::dispatched &&
         state != CallState::in_doubt;
}

}  // namespace

CallState Judge::state_of(const CallId& call) const {
  const auto books = calls_.all();
  const auto found = books.find(call);
  if (found != books.end() && found->second.last) return *found->second.last;
  const auto session = SessionId::parse(call.first.substr(0, call.first.find('~')));
  return must(store_.ledger().read(session.value(), call.second)).state;
}

void Judge::judge_effects() {
  std::map<std::string, int> counts;
  for (const Effect& effect : world_.effects()) {
    // A person said that it failed while a stopped process was yet to send it.
    const bool is_given_up = effect.sent.is_outdated &&
                             state_of({effect.sent.session, effect.sent.call}) == CallState::failed;
    if (!effect.is_excused && !is_given_up) ++counts[effect.sent.operation];
  }
  for (const auto& [operation, count] : counts) {
    if (count > 1) wrong(fmt::format("{} took effect {} times", operation, count));
  }
  for (const auto& [call, runs] : calls_.all()) {
    if (runs.kind == nullptr || runs.kind->effect != EffectClass::unsafe) continue;
    if (runs.runs > 1 + runs.retries) {
      wrong(fmt::format("{} is unsafe, and was run {} times by itself", runs.operation, runs.runs));
    }
  }
}

void Judge::judge_session(const SessionId& id, SessionBooks& books) {
  const State state = must(read_state(store_, id, Point::head()));
  judge_history(state);
  judge_money(state, books);
  judge_ledger(id, books.name);
  judge_status(id, state);
}

// What a fork shares with its parent speaks of the parent.
void Judge::judge_status(const SessionId& id, const State& state) {
  const auto row = must(store_.sessions().read(id));
  const bool is_fork = row.parent && row.parent->lineage == Lineage::fork;
  const bool is_own =
      state.details->status && (!is_fork || state.details->status->position > row.parent->position);
  const Status told = is_own ? state.details->status->status : Status::active;
  if (told != row.status) {
    wrong(fmt::format("it is {}, and its log says {}", to_string(row.status), to_string(told)));
  }
  if (is_own && (state.details->status->who.empty() || state.details->status->why.empty())) {
    wrong("nobody, or for no reason, changed its status");
  }
}

void Judge::judge_live(const SessionId& id, const State& live) {
  const State state = must(read_state(store_, id, Point::head()));
  // Values that were replaced since go with a parent that is deleted.
  State known = live;
  known.entries = state.entries;
  if (state != known) wrong("the state of the process is not that of the log");
}

void Judge::judge_history(const State& state) {
  if (!state.details->skipped.empty()) wrong("an entry was passed over");
  const auto sent = provider_messages(state);
  std::vector<std::string> asked;
  for (const Message& message : sent) {
    std::size_t strays = 0;
    if (message.blocks.empty() || message.is_partial) wrong("a message is empty or cut off");
    if (results_in(message, strays) != asked || strays > 0) wrong("results do not pair with calls");
    asked = calls_in(message);
    if (!asked.empty() && message.role != Role::assistant) wrong("a call of somebody else");
  }
  if (!asked.empty()) wrong("the last message has calls without results");
}

// A line that was left has cost what it cost.
void Judge::judge_money(const State& state, SessionBooks& books) {
  std::set<std::string> seen;
  for (const auto& [position, message] : state.transcript) {
    if (!message.id.starts_with("response-")) continue;
    if (!seen.insert(message.id).second) wrong(message.id + " is there twice");
  }
  for (const std::string& id : books.committed) {
    if (!seen.contains(id)) wrong(id + " was committed, and is not there");
  }
  std::int64_t paid = 0;
  for (const auto& [id, cost] : books.bought) paid += cost;
  for (const std::string& id : seen) {
    if (!books.bought.contains(id)) paid += prices_.at(id);
  }
  const BudgetTotals& totals = state.budget.totals;
  if (totals.recorded() < paid) {
    wrong(fmt::format("{} was paid, and {} is recorded", paid, totals.recorded()));
  }
  const bool is_confirmed = !books.is_fork && totals.unconfirmed == 0 && totals.reserved == 0;
  if (is_confirmed && totals.recorded() != paid) {
    wrong(fmt::format("{} was paid, and {} is confirmed", paid, totals.recorded()));
  }
}

void Judge::judge_ledger(const SessionId& id, const std::string& whose) {
  std::map<CallId, int> effects;
  std::set<std::string> landed;
  for (const Effect& effect : world_.effects()) {
    landed.insert(effect.sent.operation);
    const bool counts = !effect.is_excused && !effect.sent.is_outdated;
    if (counts) ++effects[{effect.sent.session, effect.sent.call}];
  }
  const auto books = calls_.all();
  for (const Call& call : must(store_.ledger().list({.session = id}))) {
    if (call.effect == EffectClass::read_only) continue;
    const CallId name{whose, call.position};
    const auto found = books.find(name);
    const RunsOfCall runs = found == books.end() ? RunsOfCall{} : found->second;
    const std::string what =
        fmt::format("{} {} is {}", call.tool, call_name(id, call.position), to_string(call.state));
    if (runs.runs > call.attempts) wrong(what + ", and was run more often than it was dispatched");
    if (call.state == CallState::succeeded && !landed.contains(runs.operation)) {
      wrong(what + ", and the world knows nothing of it");
    }
    if (call.state == CallState::failed && effects.contains(name)) {
      wrong(what + ", and it took effect");
    }
    const bool was_never_made = call.state == CallState::intended ||
                                call.state == CallState::denied ||
                                call.state == CallState::cancelled;
    if (was_never_made && runs.runs > 0) wrong(what + ", and it was run");
  }
}

void Judge::judge_end(const SessionId& id) {
  for (const Call& call : must(store_.ledger().list({.session = id}))) {
    if (is_settled(call.state)) continue;
    wrong(fmt::format("call {} is still {}", call_name(id, call.position), to_string(call.state)));
  }
  const auto row = must(store_.sessions().read(id));
  if (row.needs_attention()) wrong("the session still needs attention");
}

std::vector<std::string> Judge::take_complaints() { return std::exchange(complaints_, {}); }

}  // namespace perdure::simulation
