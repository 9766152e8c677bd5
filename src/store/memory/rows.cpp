// Rows of sessions and segments, then lines of history.

#include "memory/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/chain.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"

namespace perdure::memory {

// The rows of sessions and segments, as several roles need them.

namespace {

Result<Place> find_origin(const State& state, const NewSession::Origin& origin) {
  auto session = find_session(state, origin.session);
  if (!session) return forward(session);
  auto here = rules::check_here(origin.session, (*session)->moved);
  if (!here) return forward(here);
  return resolve(state, **session, origin.at);
}

SessionTable make_table(const NewSession& session, Timestamp now) {
  SessionTable table;
  SessionSummary& row = table.row;
  row.id = session.id;
  annotate(row, session.annotation);
  row.status = session.status;
  row.wait_reason = session.wait_reason;
  row.wake_at = session.wake_at;
  row.revision = 1;
  row.created_at = now;
  row.updated_at = now;
  table.chain = rules::chain_start(session.id);
  return table;
}

}  // namespace

bool is_arriving(const State& state, const SessionId& id) {
  return std::ranges::any_of(state.arrivals | std::views::values, [&](const ArrivalRow& arrival) {
    return std::ranges::any_of(arrival.facts, [&](const Fact& fact) {
      const auto* session = std::get_if<SessionFact>(&fact);
      return session != nullptr && session->row && session->row->summary.id == id;
    });
  });
}

bool is_alive(const State& state, const WorkerId& worker, Uptime uptime) {
  const auto found = state.workers.find(worker);
  return found != state.workers.end() && found->second.until > uptime;
}

Result<void> require_live(const State& state, const WorkerId& worker, Uptime uptime) {
  if (is_alive(state, worker, uptime)) return {};
  return fail(ErrorCode::lease_lost,
              fmt::format("worker {} is not live: it is unknown, has retired, or has to renew",
                          worker.text()),
              worker.text());
}

std::optional<Holder> holder_of(const State& state, const Grant& grant, Uptime uptime) {
  if (!grant.owner) return std::nullopt;
  // Retiring gives up everything, so an owner's worker is always known.
  const NewWorker& worker = state.workers.at(grant.owner->worker).worker;
  return Holder{worker.id,   worker.host,
                worker.pid,  grant.owner->since,
                grant.fence, is_alive(state, worker.id, uptime),
                false};
}

SessionSummary shown(const State& state, const SessionTable& table, Uptime uptime) {
  SessionSummary session = table.row;
  session.holder = holder_of(state, table.grant, uptime);
  return session;
}

void annotate(SessionSummary& row, const Annotation& part) {
  if (part.title) row.title = *part.title;
  if (part.opening) row.opening = *part.opening;
  if (part.tags) row.tags = *part.tags;
  if (part.metadata) row.metadata = *part.metadata;
}

SegmentId open_segment(State& state, Undo& undo, Segment segment, std::uint64_t owner) {
  undo.of_value(state.last_segment);
  segment.id = ++state.last_segment;
  undo.of_key(state.segments, segment.id);
  const SegmentId id = segment.id;
  state.segments[id] =
      SegmentTable{.segment = std::move(segment), .owner = owner, .entries = {}, .shadows = {}};
  return id;
}

Result<void> require_blob(const State& state, const Body& body) {
  const auto ref = body.blob();
  if (!ref) return {};
  const auto found = state.blobs.find(ref->digest);
  if (found != state.blobs.end() && found->second.bytes.size() == ref->size) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("blob {} was not put before it was named", to_hex(ref->digest)));
}

Result<void> add_session(State& state, Undo& undo, const NewSession& session, Timestamp now) {
  if (state.sessions.contains(session.id) || is_arriving(state, session.id)) {
    return fail(ErrorCode::already_exists,
                fmt::format("there is a session {} already", session.id.text()), session.id.text());
  }
  SessionTable table = make_table(session, now);
  Segment root{.id = 0, .session = session.id, .first = 1, .parent = {}, .parent_position = 0};
  if (session.origin) {
    auto origin = find_origin(state, *session.origin);
    if (!origin) return forward(origin);
    table.row.parent = Parent{session.origin->session, origin->position, session.origin->lineage};
    if (session.origin->lineage == Lineage::fork) {
      root.first = origin->position + 1;
      root.parent = origin->segment;
      root.parent_position = origin->position;
      table.row.head = origin->position;
      table.row.next = origin->position + 1;
      table.row.tally = total_at(state, *origin);
    }
  }
  undo.of_value(state.births);
  table.born = ++state.births;
  table.segments.push_back(open_segment(state, undo, std::move(root), table.born));
  undo.of_key(state.sessions, session.id);
  state.sessions.emplace(session.id, std::move(table));
  return {};
}

// Positions of one session: its own segments cover [first of the first, next)
// without gaps, because every segment begins where the session had got to. What is
// below is on the line of the session it was forked from, and there only up to the
// point of the fork.

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
