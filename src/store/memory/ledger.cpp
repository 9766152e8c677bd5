// Reading the ledger of a memory store. It is written by commits only.

#include "perdure/store/ledger.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/commit.hpp"
#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"

namespace perdure::memory {

namespace {

const Call& call_at(const State& state, const CallRef& ref) {
  return state.sessions.at(ref.session).calls.at(ref.position);
}

/// The sessions the query is about, oldest first, whatever it begins behind.
Result<std::vector<const SessionTable*>> sessions_of(const State& state, const CallQuery& query) {
  if (query.session) {
    auto table = find_session(state, *query.session);
    if (!table) return forward(table);
    return std::vector<const SessionTable*>{*table};
  }
  std::vector<const SessionTable*> tables;
  tables.reserve(state.sessions.size());
  for (const auto& [id, table] : state.sessions) tables.push_back(&table);
  std::ranges::sort(tables, {}, &SessionTable::born);
  return tables;
}

/// The age of a session and a position in it: behind which calls are asked for.
using CallAge = std::pair<std::uint64_t, Position>;

Result<CallAge> age_of(const State& state, const std::optional<CallId>& call) {
  if (!call) return CallAge{};
  auto table = find_session(state, call->session);
  if (!table) return forward(table);
  return CallAge{(*table)->born, call->position};
}

bool is_wanted(const CallQuery& query, const Call& call) {
  return query.states.empty() || std::ranges::find(query.states, call.state) != query.states.end();
}

}  // namespace

Result<Call> MemoryStore::read(const SessionId& session, Position call) {
  return base_.state.with([&](State& state) -> Result<Call> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    const auto found = (*table)->calls.find(call);
    if (found == (*table)->calls.end()) {
      const std::string name = call_name(session, call);
      return fail(ErrorCode::not_found, fmt::format("there is no call {}", name), name);
    }
    ++state.counters.rows_read;
    return found->second;
  });
}

Result<std::optional<Call>> MemoryStore::find_holder(const Digest& key) {
  return base_.state.with([&](State& state) -> Result<std::optional<Call>> {
    const auto found = state.key_holders.find(key);
    auto claim = find_claim(state, key);
    if (found == state.key_holders.end() && !claim) return std::nullopt;
    ++state.counters.rows_read;
    if (claim) return claim;
    return call_at(state, found->second);
  });
}

// Of the same age by the clock, a claim, whose session is gone, comes before all, and those of an
// older session before others.
Result<std::vector<Call>> MemoryStore::with_key(const Digest& key) {
  return base_.state.with([&](State& state) -> Result<std::vector<Call>> {
    std::vector<Call> calls;
    for (const Digest& claimed : {key, rules::claim_key(key)}) {
      if (auto claim = find_claim(state, claimed)) calls.push_back(*std::move(claim));
    }
    std::vector<const SessionTable*> tables;
    for (const SessionTable& table : state.sessions | std::views::values) tables.push_back(&table);
    std::ranges::sort(tables, {}, &SessionTable::born);
    for (const SessionTable* table : tables) {
      for (const Call& call : table->calls | std::views::values) {
        const bool is_claim = call.claimed == key && rules::holds_key(call.state);
        if (call.key == key || is_claim) calls.push_back(call);
      }
    }
    std::ranges::stable_sort(calls, {}, &Call::intended_at);
    state.counters.rows_read += calls.size();
    return calls;
  });
}

Result<std::vector<Call>> MemoryStore::list(const CallQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Call>> {
    auto tables = sessions_of(state, query);
    if (!tables) return forward(tables);
    auto after = age_of(state, query.after);
    if (!after) return forward(after);
    std::vector<Call> calls;
    for (const SessionTable* table : *tables) {
      for (const auto& [position, call] : table->calls) {
        if (CallAge(table->born, position) <= *after || !is_wanted(query, call)) continue;
        if (calls.size() < query.limit) calls.push_back(call);
      }
    }
    state.counters.rows_read += calls.size();
    return calls;
  });
}

}  // namespace perdure::memory
