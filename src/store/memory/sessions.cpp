// Sessions of a memory store. Lists look at every session: plain and right is what
// an oracle has to be.

#include "perdure/store/sessions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "rules/checks.hpp"
#include "rules/cursor.hpp"
#include "rules/match.hpp"
#include "rules/moves.hpp"

namespace perdure::memory {

namespace {

struct Candidate {
  rules::Mark mark;
  const SessionTable* table;
};

/// By key, then by id, in the direction of the query.
bool comes_before(const SessionQuery& query, const rules::Mark& a, const rules::Mark& b) {
  const auto key_of = [](const rules::Mark& mark) { return std::tie(mark.key, mark.id); };
  return query.descending ? key_of(b) < key_of(a) : key_of(a) < key_of(b);
}

std::vector<Candidate> candidates(const State& state, const SessionQuery& query,
                                  const std::optional<rules::Mark>& after) {
  std::vector<Candidate> found;
  for (const auto& [id, table] : state.sessions) {
    if (!rules::matches(query, table.row)) continue;
    rules::Mark mark = rules::mark_of(table.row, query.sort);
    if (after && !comes_before(query, *after, mark)) continue;
    found.push_back({std::move(mark), &table});
  }
  std::ranges::sort(found, [&](const Candidate& a, const Candidate& b) {
    return comes_before(query, a.mark, b.mark);
  });
  return found;
}

}  // namespace

Result<SessionSummary> MemoryStore::create(const NewSession& session) {
  auto checked = rules::check(session);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    Undo undo;
    auto added = add_session(state, undo, session, base_.clock.now());
    if (!added) return forward(added);
    undo.keep();
    state.note_change();
    return shown(state, state.sessions.at(session.id), base_.clock.uptime());
  });
}

Result<SessionSummary> MemoryStore::read(const SessionId& id) {
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    ++state.counters.rows_read;
    return shown(state, **table, base_.clock.uptime());
  });
}

Result<SessionPage> MemoryStore::list(const SessionQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  std::optional<rules::Mark> after;
  if (!query.cursor.empty()) {
    auto mark = rules::from_cursor(query);
    if (!mark) return forward(mark);
    after = *std::move(mark);
  }
  return base_.state.with([&](State& state) -> Result<SessionPage> {
    const std::vector<Candidate> found = candidates(state, query, after);
    const std::size_t count = std::min(query.limit, found.size());
    const Uptime uptime = base_.clock.uptime();
    SessionPage page;
    for (std::size_t i = 0; i < count; ++i) {
      page.sessions.push_back(shown(state, *found[i].table, uptime));
    }
    if (count < found.size()) page.next = rules::to_cursor(query, found[count - 1].mark);
    state.counters.rows_read += count;
    return page;
  });
}

Result<std::vector<SessionSummary>> MemoryStore::due(std::size_t limit) {
  auto checked = rules::check_limit(limit);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<SessionSummary>> {
    const Timestamp now = base_.clock.now();
    const Uptime uptime = base_.clock.uptime();
    std::vector<std::pair<Timestamp, SessionSummary>> found;
    for (const auto& [id, table] : state.sessions) {
      SessionSummary session = shown(state, table, uptime);
      const auto since = rules::due_since(session, now);
      if (since) found.emplace_back(*since, std::move(session));
    }
    std::ranges::sort(found, {},
                      [](const auto& due) { return std::pair(due.first, due.second.id); });
    std::vector<SessionSummary> sessions;
    for (auto& [since, session] : found) {
      if (sessions.size() == limit) break;
      sessions.push_back(std::move(session));
    }
    state.counters.rows_read += sessions.size();
    return sessions;
  });
}

Result<SessionSummary> MemoryStore::annotate(const SessionId& id, const Annotation& part) {
  auto checked = rules::check(part);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<SessionSummary> {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    auto here = rules::check_here(id, (*table)->moved);
    if (!here) return forward(here);
    SessionSummary& row = (*table)->row;
    memory::annotate(row, part);
    row.updated_at = base_.clock.now();
    ++row.revision;
    state.note_change();
    return shown(state, **table, base_.clock.uptime());
  });
}

}  // namespace perdure::memory
