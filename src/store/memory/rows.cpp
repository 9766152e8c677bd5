// The rows of sessions and segments, as several roles need them.

#include "memory/rows.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <utility>

#include "memory/lines.hpp"
#include "memory/state.hpp"
#include "memory/undo.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/chain.hpp"
#include "rules/moves.hpp"

namespace perdure::memory {

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
    return std::ranges::any_of(
        arrival.owners | std::views::values,
        [&](const ArrivingOwner& owner) { return owner.table && owner.table->row.id == id; });
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

}  // namespace perdure::memory
