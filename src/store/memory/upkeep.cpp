// The upkeep of a memory store: its check, then forgetting.

#include "perdure/store/upkeep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "rules/followed.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"
#include "rules/session_check.hpp"
#include "rules/stored_session.hpp"
#include "store/api/lookup.hpp"

namespace perdure::memory {

namespace {

void check_entry(const State& state, const std::optional<SessionId>& session, const Entry& entry,
                 rules::Findings& found) {
  ++found.report.entries;
  found.report.bytes += entry.body.bytes().size();
  const auto add = [&](Fault fault, std::string_view what) {
    found.add(
        {.fault = fault,
         .session = session,
         .first = entry.position,
         .last = entry.position,
         .what = fmt::format("position {} of {} {}", entry.position,
                             session ? "session " + session->text() : "a removed session", what)});
  };
  if (entry.condition == Condition::erased) return;
  if (sha256(entry.body.bytes()) != entry.hash) {
    add(Fault::chain, "has a body that does not match its hash");
  }
  const auto ref = entry.body.blob();
  if (ref && !state.blobs.contains(ref->digest)) {
    add(Fault::reference, "names a blob that is not there");
  }
}

void check_calls(const SessionTable& session, rules::Findings& found) {
  std::int64_t in_doubt = 0;
  for (const auto& [position, call] : session.calls) {
    ++found.report.calls;
    if (call.state == CallState::in_doubt) ++in_doubt;
    const std::string why = rules::find_contradiction(call);
    if (why.empty()) continue;
    found.add(
        {.fault = Fault::ledger,
         .session = session.row.id,
         .first = position,
         .last = position,
         .what = fmt::format("call {} cannot be: {}", call_name(session.row.id, position), why)});
  }
  if (in_doubt == session.row.attention) return;
  found.add(Fault::summary, session.row.id,
            fmt::format("the session's row says {} calls are in doubt, and {} are",
                        session.row.attention, in_doubt));
}

void check_session(const State& state, const SessionTable& session, rules::Findings& found) {
  ++found.report.sessions;
  found.report.commits += session.receipts.size();
  for (const SegmentId segment : session.segments) {
    for (const EntryRow& row : state.segments.at(segment).entries) {
      check_entry(state, session.row.id, row.entry, found);
    }
  }
  check_calls(session, found);
}

// What is left of removed sessions is what forks share of them.
void check_shared(const State& state, rules::Findings& found) {
  for (const auto& [number, table] : state.segments) {
    if (!table.segment.session.empty()) continue;
    for (const EntryRow& row : table.entries) check_entry(state, {}, row.entry, found);
  }
}

void check_blobs(const State& state, rules::Findings& found) {
  for (const auto& [name, row] : state.blobs) {
    ++found.report.blobs;
    found.report.bytes += row.bytes.size();
    if (sha256(row.bytes) == name) continue;
    found.add(Fault::chain, {}, fmt::format("blob {} does not match its name", to_hex(name)));
  }
}

}  // namespace

// The callback is called before and after, not in between: the tables are locked then.
Result<CheckReport> MemoryStore::check(const Progress& progress) {
  rules::Findings found;
  Step step{.done = 0, .total = 1};
  auto told = rules::goes_on(progress, step);
  if (!told) return forward(told);
  if (!*told) {
    found.report.is_complete = false;
    return found.finish();
  }
  auto looked = base_.state.with([&](State& state) -> Result<void> {
    for (const auto& [id, session] : state.sessions) check_session(state, session, found);
    check_shared(state, found);
    check_blobs(state, found);
    return {};
  });
  if (!looked) return forward(looked);
  step.done = 1;
  if (told = rules::goes_on(progress, step); !told) return forward(told);
  return found.finish();
}

// Forgetting: what may be dropped, then the methods.
//
// Plain and slow: every call and every segment is looked at, each time.

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

/// Points of the segment that stay: its kept versions, where other segments leave it,
/// and the head if a session continues there.
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

/// Drops the entries with positions in [from, to] that none of those can see.
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

/// Drops what is left of a session that is removed, but for what forks still need;
/// and so on with removed sessions whose last fork that was. `owner` as in SegmentTable.
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

/// There is no slice left that it could stop.
template <class T>
Result<T> reported(const Progress& progress, Result<T> done) {
  auto told = rules::goes_on(progress, {.done = 1, .total = 1});
  if (done && !told) return forward(told);
  return done;
}

Version newest_from(const SessionTable& table, std::uint64_t last) {
  if (last == 0) return std::numeric_limits<Version>::max();
  if (last >= table.checkpoints.size()) return 0;
  return std::prev(table.checkpoints.end(), static_cast<std::ptrdiff_t>(last))->first;
}

/// The point before version `number`, on its segment, that is kept whatever becomes of it.
Position kept_before(const State& state, const SessionTable& table, Version number) {
  const auto found = table.checkpoints.find(number);
  const CheckpointRow& row = found->second;
  Position before = 0;
  if (found != table.checkpoints.begin() && std::prev(found)->second.segment == row.segment) {
    before = std::prev(found)->second.checkpoint.position;
  }
  for (const SegmentTable& other : state.segments | std::views::values) {
    const Segment& segment = other.segment;
    if (segment.parent == row.segment && segment.parent_position < row.checkpoint.position) {
      before = std::max(before, segment.parent_position);
    }
  }
  return before;
}

EntryRow* find_own_entry(State& state, const SessionTable& table, Position position) {
  const auto place = locate(state, table, position);
  if (!place) return nullptr;
  for (EntryRow& row : state.segments.at(place->segment).entries) {
    if (row.entry.position == position) return &row;
  }
  return nullptr;
}

Result<void> check_removable(const State& state, const SessionTable& table, Uptime uptime) {
  const auto holder = holder_of(state, table.grant, uptime);
  if (holder && holder->alive) {
    return fail(
        ErrorCode::lease_held,
        fmt::format("session {} is owned by worker {}", table.row.id.text(), holder->worker.text()),
        holder->worker.text());
  }
  // What became of the calls of a session that was moved is the other store's to say.
  if (!table.moved.is_here()) return {};
  for (const Call& call : table.calls | std::views::values) {
    if (!rules::is_open(call.state)) continue;
    const std::string name = call_name(call.session, call.position);
    return fail(ErrorCode::conflict,
                fmt::format("call {} is {}: resolve it first", name, to_string(call.state)), name);
  }
  return {};
}

void leave_claims(State& state, const SessionTable& table) {
  for (const Call& call : table.calls | std::views::values) {
    if (!call.key) continue;
    std::erase_if(state.calls_by_key[*call.key],
                  [&](const CallRef& ref) { return ref.session == table.row.id; });
    const auto claim = rules::claim_of(call);
    if (!claim) continue;
    state.key_holders.erase(*call.key);
    state.claims.emplace(*call.key, *claim);
  }
}

std::set<Digest> named_blobs(const State& state) {
  std::set<Digest> named;
  const auto add = [&](const Body& body) {
    if (const auto ref = body.blob()) named.insert(ref->digest);
  };
  for (const SegmentTable& table : state.segments | std::views::values) {
    for (const EntryRow& row : table.entries) add(row.entry.body);
  }
  for (const SessionTable& table : state.sessions | std::views::values) {
    for (const InboxMessage& message : table.inbox.pending | std::views::values) add(message.body);
  }
  for (const ArrivalRow& arrival : state.arrivals | std::views::values) {
    for (const Fact& fact : arrival.facts) {
      if (const auto ref = rules::blob_of(fact)) named.insert(ref->digest);
    }
  }
  return named;
}

}  // namespace

Result<Pruned> MemoryStore::prune(const SessionId& session, const Keep& keep,
                                  const Progress& progress) {
  auto pruned = base_.state.with([&](State& state) -> Result<Pruned> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    const Version newest = newest_from(**table, keep.last);
    const auto names = std::erase_if((*table)->checkpoints, [&](const auto& row) {
      return !rules::keeps(keep, newest, row.second.checkpoint);
    });
    Pruned done{.versions = names};
    for (const SegmentId id : (*table)->segments) {
      const Pruned part = sweep(state, state.segments.at(id), 0, rules::never);
      done.entries += part.entries;
      done.bytes += part.bytes;
    }
    state.note_change();
    return done;
  });
  return reported(progress, std::move(pruned));
}

Result<Pruned> MemoryStore::forget(const SessionId& session, Version version) {
  return base_.state.with([&](State& state) -> Result<Pruned> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    auto place = resolve(state, **table, Point::version(version));
    if (!place) return forward(place);
    const Position before = kept_before(state, **table, version);
    (*table)->checkpoints.erase(version);
    Pruned done = sweep(state, state.segments.at(place->segment), before + 1, place->position);
    done.versions = 1;
    state.note_change();
    return done;
  });
}

Result<Freed> MemoryStore::erase(const SessionId& session, const std::vector<Position>& positions) {
  return base_.state.with([&](State& state) -> Result<Freed> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    std::vector<EntryRow*> rows;
    for (const Position position : positions) {
      rows.push_back(find_own_entry(state, **table, position));
      if (rows.back() != nullptr) continue;
      return fail(ErrorCode::not_found,
                  fmt::format("session {} has no entry at position {}", session.text(), position));
    }
    Freed freed;
    for (EntryRow* row : rows) {
      Entry& entry = row->entry;
      if (entry.condition == Condition::erased) continue;
      ++freed.items;
      freed.bytes += entry.body.bytes().size();
      entry.body = Body::from_stored(entry.body.codec(), {});
      entry.condition = Condition::erased;
    }
    if (!positions.empty()) ++(*table)->row.revision;
    state.note_change();
    return freed;
  });
}

Result<Freed> MemoryStore::remove(const SessionId& session, const Progress& progress) {
  auto removed = base_.state.with([&](State& state) -> Result<Freed> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    auto free = check_removable(state, **table, base_.clock.uptime());
    if (!free) return forward(free);
    leave_claims(state, **table);
    for (const SegmentId id : (*table)->segments) state.segments.at(id).segment.session = {};
    const std::uint64_t owner = (*table)->born;
    state.sessions.erase(session);
    state.note_change();
    return clear(state, owner);
  });
  return reported(progress, std::move(removed));
}

Result<Freed> MemoryStore::collect_blobs(Duration staged_for, const Progress& progress) {
  auto checked = rules::check_grace(staged_for);
  if (!checked) return forward(checked);
  auto collected = base_.state.with([&](State& state) -> Result<Freed> {
    const std::set<Digest> named = named_blobs(state);
    const Timestamp now = base_.clock.now();
    Freed freed;
    std::erase_if(state.blobs, [&](const auto& blob) {
      if (now - blob.second.put_at <= staged_for || named.contains(blob.first)) return false;
      ++freed.items;
      freed.bytes += blob.second.bytes.size();
      return true;
    });
    state.note_change();
    return freed;
  });
  return reported(progress, std::move(collected));
}

Result<Freed> MemoryStore::vacuum(const Progress& progress) {
  return reported<Freed>(progress, Freed{});
}

}  // namespace perdure::memory
