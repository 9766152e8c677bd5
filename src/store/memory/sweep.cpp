// Plain and slow: every call and every segment is looked at, each time.

#include "memory/sweep.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/lines.hpp"
#include "memory/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

namespace {

/// Positions of the segment that calls of any session still need.
std::set<Position> needed(const State& state, SegmentId segment) {
  std::set<Position> positions;
  for (const SessionTable& session : state.sessions | std::views::values) {
    for (const Call& call : session.calls | std::views::values) {
      for (const Position one : {call.position, call.args, call.result.value_or(0)}) {
        if (!rules::needs(call, one)) continue;
        const auto place = locate(state, session, one);
        if (place && place->segment == segment) positions.insert(one);
      }
    }
  }
  return positions;
}

/// Where each entry is replaced, by position.
std::map<Position, Position> replacements(const SegmentTable& table) {
  std::map<Position, Position> found;
  std::map<std::string, Position> next;
  for (const EntryRow& row : table.entries | std::views::reverse) {
    const Entry& entry = row.entry;
    const auto later = next.find(entry.channel);
    found[entry.position] = later == next.end() ? rules::never : later->second;
    if (entry.fold == Fold::replace) next[entry.channel] = entry.position;
  }
  return found;
}

void add_shadow(SegmentTable& table, rules::Shadow shadow) {
  std::vector<rules::Shadow> others;
  for (const rules::Shadow& one : table.shadows) {
    if (rules::touch(one, shadow)) {
      shadow = rules::join(one, shadow);
    } else {
      others.push_back(one);
    }
  }
  others.push_back(shadow);
  std::ranges::sort(others, {}, &rules::Shadow::first);
  table.shadows = std::move(others);
}

bool has_child(const State& state, SegmentId segment) {
  return std::ranges::any_of(state.segments | std::views::values, [segment](const auto& table) {
    return table.segment.parent == segment;
  });
}

Freed bodies_of(const SegmentTable& table) {
  Freed freed{.items = table.entries.size(), .bytes = 0};
  for (const EntryRow& row : table.entries) freed.bytes += row.entry.body.bytes().size();
  return freed;
}

/// The owner of the segment's parent, if that is removed too.
std::optional<std::uint64_t> removed_parent(const State& state, const Segment& segment) {
  if (!segment.parent) return std::nullopt;
  const SegmentTable& parent = state.segments.at(*segment.parent);
  return parent.segment.session.empty() ? std::optional(parent.owner) : std::nullopt;
}

}  // namespace

std::set<Position> kept_points(const State& state, const SegmentTable& table) {
  std::set<Position> points;
  for (const SegmentTable& other : state.segments | std::views::values) {
    if (other.segment.parent == table.segment.id) points.insert(other.segment.parent_position);
  }
  const auto owner = state.sessions.find(table.segment.session);
  if (owner == state.sessions.end()) return points;
  for (const CheckpointRow& row : owner->second.checkpoints | std::views::values) {
    if (row.segment == table.segment.id) points.insert(row.checkpoint.position);
  }
  if (owner->second.segments.back() == table.segment.id) points.insert(owner->second.row.head);
  return points;
}

Pruned sweep(State& state, SegmentTable& table, Position from, Position to) {
  const std::set<Position> points = kept_points(state, table);
  const std::set<Position> stay = needed(state, table.segment.id);
  const std::map<Position, Position> replaced = replacements(table);
  Pruned dropped;
  std::vector<EntryRow> left;
  for (const EntryRow& row : table.entries) {
    const Position position = row.entry.position;
    const auto next = points.lower_bound(position);
    const auto kept = next == points.end() ? std::nullopt : std::optional(*next);
    const bool is_inside = position >= from && position <= to;
    if (!is_inside || rules::is_seen(position, replaced.at(position), kept) ||
        stay.contains(position)) {
      left.push_back(row);
      continue;
    }
    ++dropped.entries;
    dropped.bytes += row.entry.body.bytes().size();
    add_shadow(
        table,
        {.first = position, .upto = replaced.at(position), .entries = 1, .tally = row.entry.tally});
  }
  table.entries = std::move(left);
  return dropped;
}

Freed clear(State& state, std::uint64_t owner) {
  std::vector<SegmentId> segments;
  for (const auto& [id, table] : state.segments) {
    if (table.owner == owner) segments.push_back(id);
  }
  Freed freed;
  std::set<std::uint64_t> parents;
  // Branches are younger than what they leave.
  for (const SegmentId id : segments | std::views::reverse) {
    SegmentTable& table = state.segments.at(id);
    if (has_child(state, id)) {
      const Pruned trimmed = sweep(state, table, 0, rules::never);
      freed.items += trimmed.entries;
      freed.bytes += trimmed.bytes;
      continue;
    }
    const Freed bodies = bodies_of(table);
    freed.items += bodies.items;
    freed.bytes += bodies.bytes;
    const auto parent = removed_parent(state, table.segment);
    if (parent && *parent != owner) parents.insert(*parent);
    state.segments.erase(id);
  }
  for (const std::uint64_t parent : parents) {
    const Freed more = clear(state, parent);
    freed.items += more.items;
    freed.bytes += more.bytes;
  }
  return freed;
}

}  // namespace perdure::memory
