// The log of a memory store: lines are walked segment by segment, in the order
// that was asked for, and no further than needed.

#include "perdure/store/log.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "rules/checks.hpp"
#include "rules/match.hpp"

namespace perdure::memory {

namespace {

/// The entries of a stretch with positions in [from, to].
std::span<const EntryRow> part_of(const Stretch& stretch, Position from, Position to) {
  const std::vector<EntryRow>& entries = stretch.table->entries;
  const auto position_of = [](const EntryRow& row) { return row.entry.position; };
  const auto begin = std::ranges::lower_bound(entries, from, {}, position_of);
  const auto end = std::ranges::upper_bound(entries, std::min(to, stretch.last), {}, position_of);
  if (begin >= end) return {};
  return {begin, end};
}

/// Calls `take` with each entry of the line in [from, to] until it says false.
template <class Take>
void walk(const std::vector<Stretch>& line, const LogQuery& query, Take&& take) {
  if (query.order == Order::oldest_first) {
    for (const Stretch& stretch : line) {
      for (const EntryRow& row : part_of(stretch, query.from, query.to)) {
        if (!take(row.entry)) return;
      }
    }
    return;
  }
  for (const Stretch& stretch : line | std::views::reverse) {
    for (const EntryRow& row : part_of(stretch, query.from, query.to) | std::views::reverse) {
      if (!take(row.entry)) return;
    }
  }
}

Result<std::vector<Stretch>> find_line(const State& state, const SessionId& session, Point as_of) {
  auto table = find_session(state, session);
  if (!table) return forward(table);
  auto place = resolve(state, **table, as_of);
  if (!place) return forward(place);
  return line_to(state, *place);
}

}  // namespace

Result<std::vector<Entry>> MemoryStore::read(const SessionId& session, const LogQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Entry>> {
    auto line = find_line(state, session, query.as_of);
    if (!line) return forward(line);
    std::vector<Entry> entries;
    walk(*line, query, [&](const Entry& entry) {
      if (query.channel.empty() || entry.channel == query.channel) entries.push_back(entry);
      return entries.size() < query.limit;
    });
    state.counters.rows_read += entries.size();
    return entries;
  });
}

Result<std::optional<Entry>> MemoryStore::find_value(const SessionId& session,
                                                     const std::string& channel, Point as_of) {
  return base_.state.with([&](State& state) -> Result<std::optional<Entry>> {
    auto line = find_line(state, session, as_of);
    if (!line) return forward(line);
    std::optional<Entry> value;
    LogQuery query;
    query.order = Order::newest_first;
    walk(*line, query, [&](const Entry& entry) {
      if (entry.channel == channel && entry.fold == Fold::replace) value = entry;
      return !value;
    });
    state.counters.rows_read += value ? 1U : 0U;
    return value;
  });
}

Result<std::vector<Checkpoint>> MemoryStore::checkpoints(const SessionId& session,
                                                         const CheckpointQuery& query) {
  auto checked = rules::check(query);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<Checkpoint>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    std::vector<Checkpoint> found;
    for (const CheckpointRow& row :
         (*table)->checkpoints | std::views::values | std::views::reverse) {
      if (found.size() == query.limit) break;
      if (rules::matches(query, row.checkpoint)) found.push_back(row.checkpoint);
    }
    state.counters.rows_read += found.size();
    return found;
  });
}

Result<std::vector<Segment>> MemoryStore::line(const SessionId& session, Point as_of) {
  return base_.state.with([&](State& state) -> Result<std::vector<Segment>> {
    auto line = find_line(state, session, as_of);
    if (!line) return forward(line);
    std::vector<Segment> segments;
    for (const Stretch& stretch : *line) segments.push_back(stretch.table->segment);
    state.counters.rows_read += segments.size();
    return segments;
  });
}

Result<std::optional<Receipt>> MemoryStore::find_receipt(const SessionId& session,
                                                         const BatchId& batch) {
  return base_.state.with([&](State& state) -> Result<std::optional<Receipt>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    const auto found = (*table)->receipts.find(batch);
    if (found == (*table)->receipts.end()) return std::nullopt;
    ++state.counters.rows_read;
    return found->second.receipt;
  });
}

}  // namespace perdure::memory
