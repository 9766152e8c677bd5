// Positions of one session: its own segments cover [first of the first, next)
// without gaps, because every segment begins where the session had got to. What is
// below is on the line of the session it was forked from, and there only up to the
// point of the fork.

#include "memory/lines.hpp"

#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

namespace {

std::unexpected<Error> no_session(const SessionId& id) {
  return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()), id.text());
}

Result<Place> resolve_version(const SessionTable& session, Version version) {
  const auto found = session.checkpoints.find(version);
  if (found == session.checkpoints.end()) {
    return fail(ErrorCode::not_found,
                fmt::format("session {} has no version {}", session.row.id.text(), version));
  }
  return Place{found->second.segment, found->second.checkpoint.position};
}

/// Which of the session's own segments covers the position: the last one that begins
/// at or before it.
SegmentId own_segment(const State& state, const SessionTable& session, Position position) {
  const auto after = std::ranges::upper_bound(session.segments, position, {}, [&](SegmentId id) {
    return state.segments.at(id).segment.first;
  });
  return *(after - 1);
}

bool is_pruned(const SegmentTable& table, Position position) {
  return find_entry(table, position) == nullptr ||
         std::ranges::any_of(table.shadows, [position](const rules::Shadow& shadow) {
           return shadow.first <= position && position < shadow.upto;
         });
}

Result<Place> resolve_position(const State& state, const SessionTable& session, Position position) {
  const auto place = locate(state, session, position);
  if (!place) {
    return fail(ErrorCode::not_found,
                fmt::format("session {} has no position {}", session.row.id.text(), position));
  }
  if (position > 0 && is_pruned(state.segments.at(place->segment), position)) {
    return fail(ErrorCode::not_found, fmt::format("position {} of session {} was pruned", position,
                                                  session.row.id.text()));
  }
  return *place;
}

}  // namespace

const EntryRow* find_entry(const SegmentTable& table, Position position) {
  const auto found = std::ranges::lower_bound(
      table.entries, position, {}, [](const EntryRow& row) { return row.entry.position; });
  const bool is_there = found != table.entries.end() && found->entry.position == position;
  return is_there ? &*found : nullptr;
}

std::optional<Place> locate(const State& state, const SessionTable& session, Position position) {
  if (position >= session.row.next) return std::nullopt;
  // Before all entries is where the first one is, or will be.
  const Position sought = std::max<Position>(position, 1);
  const Segment& first = state.segments.at(session.segments.front()).segment;
  if (sought >= first.first) return Place{own_segment(state, session, sought), position};

  const auto line = line_to(state, {first.id, first.parent_position});
  for (const Stretch& stretch : line | std::views::reverse) {
    const Segment& segment = stretch.table->segment;
    if (sought >= segment.first && position <= stretch.last) return Place{segment.id, position};
  }
  return std::nullopt;
}

Result<const SessionTable*> find_session(const State& state, const SessionId& id) {
  const auto found = state.sessions.find(id);
  if (found == state.sessions.end()) return no_session(id);
  return &found->second;
}

Result<SessionTable*> find_session(State& state, const SessionId& id) {
  const auto found = state.sessions.find(id);
  if (found == state.sessions.end()) return no_session(id);
  return &found->second;
}

Place head_of(const SessionTable& session) { return {session.segments.back(), session.row.head}; }

Result<Place> resolve(const State& state, const SessionTable& session, Point point) {
  switch (point.kind()) {
    case Point::Kind::head:
      return head_of(session);
    case Point::Kind::version:
      return resolve_version(session, point.number());
    case Point::Kind::position:
      break;
  }
  return resolve_position(state, session, point.number());
}

std::vector<Stretch> line_to(const State& state, Place place) {
  std::vector<Stretch> line;
  const SegmentTable* table = &state.segments.at(place.segment);
  Position last = place.position;
  line.push_back({table, last});
  while (table->segment.parent) {
    last = std::min(last, table->segment.parent_position);
    table = &state.segments.at(*table->segment.parent);
    line.push_back({table, last});
  }
  std::ranges::reverse(line);
  return line;
}

bool is_on_line(const State& state, Place place, Position position) {
  return std::ranges::any_of(line_to(state, place), [position](const Stretch& stretch) {
    return position <= stretch.last && find_entry(*stretch.table, position) != nullptr;
  });
}

Tally total_at(const State& state, Place place) {
  const SegmentTable* table = &state.segments.at(place.segment);
  while (place.position < table->segment.first && table->segment.parent) {
    table = &state.segments.at(*table->segment.parent);
  }
  const EntryRow* last = find_entry(*table, place.position);
  return last == nullptr ? Tally{} : last->total;
}

}  // namespace perdure::memory
