// Facts out of a memory store and into one. Each slice looks at all tables again: plain and slow. What
// can be refused is looked at before anything changes, so that a slice is taken in as a whole.

#include "store/api/transfer.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "memory/commit.hpp"
#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "rules/calls.hpp"
#include "rules/fact_slices.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

namespace {

Result<void> check_nobody_runs(const State& state, const SessionTable& table, Uptime uptime) {
  const auto holder = holder_of(state, table.grant, uptime);
  if (!holder || !holder->alive) return {};
  return fail(
      ErrorCode::lease_held,
      fmt::format("session {} is owned by worker {}", table.row.id.text(), holder->worker.text()),
      holder->worker.text());
}

std::set<SessionId> all_here(const State& state) {
  std::set<SessionId> here;
  for (const auto& [id, table] : state.sessions) {
    if (table.moved.is_here()) here.insert(id);
  }
  return here;
}

std::string family_name(const SegmentTable& table) {
  return table.segment.session.empty() ? rules::Families::name_of(table.owner)
                                       : table.segment.session.text();
}

rules::Families families_of(const State& state) {
  rules::Families families;
  for (const auto& [id, table] : state.sessions) {
    if (table.row.parent) families.join(id.text(), table.row.parent->session.text());
  }
  for (const SegmentTable& table : state.segments | std::views::values) {
    if (!table.segment.parent) continue;
    families.join(family_name(table), family_name(state.segments.at(*table.segment.parent)));
  }
  return families;
}

/// What facts are read of, wherever it is kept.
struct Contents {
  struct Session {
    const SessionTable* table = nullptr;
    SegmentId segment = 0;
  };
  std::map<OwnerNumber, Session> owners;
  std::map<SegmentId, const SegmentTable*> segments;
  std::map<OwnerNumber, std::vector<const SegmentTable*>> segments_of;  ///< In their order.
  /// Of the store; empty for an arrival.
  std::map<Digest, Call> claims;
  std::map<std::string, Grant> resources;
};

void add_segment(Contents& contents, const SegmentTable& table) {
  contents.segments[table.segment.id] = &table;
  contents.segments_of[table.owner].push_back(&table);
}

class Reading {
 public:
  explicit Reading(const Contents& contents) : contents_(contents) {}

  void read_sessions(rules::SliceMaker& slice) {
    for (const auto& [owner, session] : contents_.owners) {
      SessionFact fact{.owner = owner, .row = {}};
      if (session.table != nullptr) {
        const SessionTable& table = *session.table;
        fact.row = {.summary = table.row,
                    .segment = session.segment,
                    .commits = table.receipts.size(),
                    .chain = table.chain,
                    .fence = table.grant.fence};
        fact.row->summary.moved_to.clear();
      }
      add(slice, owner, 0, std::move(fact));
    }
  }

  void read_segments(rules::SliceMaker& slice) {
    for (const auto& [id, table] : contents_.segments) {
      const Segment& segment = table->segment;
      add(slice, 0, id,
          SegmentFact{id, table->owner, segment.first, segment.parent, segment.parent_position});
    }
  }

  void read_pruned(rules::SliceMaker& slice) {
    for (const auto& [id, table] : contents_.segments) {
      for (const rules::Shadow& shadow : table->shadows) {
        add(slice, id, shadow.first,
            PrunedFact{id, shadow.first, shadow.upto, shadow.entries, shadow.tally});
      }
    }
  }

  void read_entries(rules::SliceMaker& slice) {
    for (const auto& [owner, segments] : contents_.segments_of) {
      if (owner < slice.at().group) continue;
      for (const SegmentTable* table : segments) {
        for (const EntryRow& row : table->entries) {
          add(slice, owner, row.entry.position, row.entry);
        }
      }
    }
  }

  void read_receipts(rules::SliceMaker& slice) {
    for (const auto& [owner, table] : sessions_from(slice)) {
      std::map<std::uint64_t, const ReceiptRow*> rows;
      for (const ReceiptRow& row : table->receipts | std::views::values) rows[row.number] = &row;
      for (const auto& [number, row] : rows) {
        add(slice, owner, number,
            ReceiptFact{owner, number, row->segment, row->fence, row->receipt});
      }
    }
  }

  void read_checkpoints(rules::SliceMaker& slice) {
    for (const auto& [owner, table] : sessions_from(slice)) {
      for (const auto& [version, row] : table->checkpoints) {
        add(slice, owner, version, CheckpointFact{owner, row.segment, row.checkpoint});
      }
    }
  }

  void read_calls(rules::SliceMaker& slice) {
    for (const auto& [owner, table] : sessions_from(slice)) {
      for (const auto& [position, call] : table->calls) {
        add(slice, owner, position, CallFact{owner, segment_at(owner, position), call});
      }
    }
  }

  void read_waiting(rules::SliceMaker& slice) {
    for (const auto& [owner, table] : sessions_from(slice)) {
      for (const auto& [arrival, message] : table->inbox.pending) {
        add(slice, owner, arrival, MessageFact{owner, false, message});
      }
    }
  }

  void read_consumed(rules::SliceMaker& slice) {
    for (const auto& [owner, table] : sessions_from(slice)) {
      for (const auto& [id, row] : table->inbox.messages) {
        if (row.arrival) continue;
        const InboxMessage message{table->row.id, id, row.kind,
                                   Body::from_stored(row.codec, std::string()), row.at};
        add(slice, owner, id.text(), MessageFact{owner, true, message});
      }
    }
  }

  void read_claims(rules::SliceMaker& slice) {
    for (const auto& [key, call] : contents_.claims) add(slice, 0, to_hex(key), ClaimFact{call});
  }

  void read_resources(rules::SliceMaker& slice) {
    for (const auto& [name, grant] : contents_.resources) {
      add(slice, 0, name, ResourceFact{name, grant.fence});
    }
  }

 private:
  [[nodiscard]] std::vector<std::pair<OwnerNumber, const SessionTable*>> sessions_from(
      const rules::SliceMaker& slice) const {
    std::vector<std::pair<OwnerNumber, const SessionTable*>> found;
    for (const auto& [owner, session] : contents_.owners) {
      if (session.table != nullptr && owner >= slice.at().group) {
        found.emplace_back(owner, session.table);
      }
    }
    return found;
  }

  /// Unless the cursor is behind it, or the slice is full.
  static void add(rules::SliceMaker& slice, std::uint64_t group, std::uint64_t number, Fact fact) {
    const FactCursor& at = slice.at();
    if (slice.is_full() || std::pair(group, number) <= std::pair(at.group, at.number)) return;
    slice.add(group, number, std::move(fact));
  }

  static void add(rules::SliceMaker& slice, std::uint64_t group, const std::string& name,
                  Fact fact) {
    const FactCursor& at = slice.at();
    if (slice.is_full() || std::pair(group, name) <= std::pair(at.group, at.name)) return;
    slice.add(group, name, std::move(fact));
  }

  /// The last of the owner's segments that begins there or before.
  [[nodiscard]] SegmentId segment_at(OwnerNumber owner, Position position) const {
    SegmentId found = 0;
    for (const SegmentTable* table : contents_.segments_of.at(owner)) {
      if (table->segment.first <= position) found = table->segment.id;
    }
    return found;
  }

  const Contents& contents_;
};

Result<std::set<SessionId>> choose(const State& state, const std::vector<SessionId>& sessions,
                                   Uptime uptime) {
  const std::set<SessionId> here = all_here(state);
  std::set<SessionId> chosen = sessions.empty() ? here : std::set<SessionId>();
  for (const SessionId& id : sessions) {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    if (auto free = rules::check_here(id, (*table)->moved); !free) return forward(free);
    chosen.insert(id);
  }
  for (const SessionId& id : chosen) {
    auto nobody = check_nobody_runs(state, state.sessions.at(id), uptime);
    if (!nobody) return forward(nobody);
  }
  auto complete = families_of(state).check_complete(chosen, here);
  if (!complete) return forward(complete);
  return chosen;
}

std::set<OwnerNumber> owners_of(const State& state, const std::set<SessionId>& sessions) {
  std::set<OwnerNumber> owners;
  for (const SessionId& id : sessions) {
    const SessionTable& session = state.sessions.at(id);
    owners.insert(session.born);
    // A session's first segment is the one that goes on from others.
    const SegmentTable* table = &state.segments.at(session.segments.front());
    while (table->segment.parent) {
      table = &state.segments.at(*table->segment.parent);
      owners.insert(table->owner);
    }
  }
  return owners;
}

FactSlice read_named(const State& state, const std::set<OwnerNumber>& owners,
                     const FactCursor& from) {
  Contents contents;
  for (const OwnerNumber owner : owners) contents.owners[owner] = {};
  for (const SessionTable& table : state.sessions | std::views::values) {
    if (owners.contains(table.born)) {
      contents.owners[table.born] = {.table = &table, .segment = table.segments.back()};
    }
  }
  for (const SegmentTable& table : state.segments | std::views::values) {
    if (owners.contains(table.owner)) add_segment(contents, table);
  }
  contents.claims = state.claims;
  contents.resources = state.resources;
  return rules::read_slice(rules::SliceMaker(from), Reading(contents));
}

FactSlice read_arriving(const ArrivalRow& move, const FactCursor& from) {
  Contents contents;
  for (const ArrivingOwner& owner : move.owners | std::views::values) {
    const auto segment = move.numbers.find(owner.segment);
    contents.owners[owner.born] = {.table = owner.table ? &*owner.table : nullptr,
                                   .segment = segment == move.numbers.end() ? 0 : segment->second};
  }
  for (const SegmentTable& table : move.segments | std::views::values) add_segment(contents, table);
  return rules::read_slice(rules::SliceMaker(from), Reading(contents));
}

std::unexpected<Error> unknown() {
  return fail(ErrorCode::corrupted, "a fact refers to a session or a segment that is not there");
}

class Checking {
 public:
  Checking(const State& state, const ArrivalRow& move) : state_(state), move_(move) {}

  Result<void> operator()(const SessionFact& fact) const {
    if (!fact.row) return {};
    const SessionId& id = fact.row->summary.id;
    if (!state_.sessions.contains(id) && !is_arriving(state_, id)) return {};
    return fail(ErrorCode::already_exists, fmt::format("there is a session {} already", id.text()),
                id.text());
  }

  Result<void> operator()(const SegmentFact& fact) {
    if (!move_.owners.contains(fact.owner)) return unknown();
    const bool is_parent_new = fact.parent && new_.contains(*fact.parent);
    new_.insert(fact.segment);
    return fact.parent && !is_parent_new ? check_segment(*fact.parent) : Result<void>();
  }

  Result<void> operator()(const PrunedFact& fact) const { return check_segment(fact.segment); }

  Result<void> operator()(const Entry& entry) const {
    if (auto known = check_segment(entry.segment); !known) return known;
    return require_blob(state_, entry.body);
  }

  Result<void> operator()(const ReceiptFact& fact) const {
    return check_place(fact.owner, fact.segment);
  }
  Result<void> operator()(const CheckpointFact& fact) const {
    return check_place(fact.owner, fact.segment);
  }

  Result<void> operator()(const CallFact& fact) const {
    if (auto known = check_place(fact.owner, fact.segment); !known) return known;
    const Call& call = fact.call;
    if (!call.key || !rules::holds_key(call.state)) return {};
    const auto holder = state_.key_holders.find(*call.key);
    if (holder != state_.key_holders.end()) {
      return held(call, call_name(holder->second.session, holder->second.position));
    }
    // What it left when it was here before, and went, is its own.
    const auto claim = find_claim(state_, *call.key);
    if (!claim || (claim->session == call.session && claim->position == call.position)) return {};
    return held(call, call_name(claim->session, claim->position));
  }

  Result<void> operator()(const MessageFact& fact) const {
    if (auto known = check_owner(fact.owner); !known) return known;
    return fact.consumed ? Result<void>() : require_blob(state_, fact.message.body);
  }

  Result<void> operator()(const ClaimFact& fact) const {
    return fact.call.key || fact.call.claimed ? Result<void>() : unknown();
  }
  Result<void> operator()(const ResourceFact& /*fact*/) const { return {}; }

 private:
  [[nodiscard]] Result<void> check_owner(OwnerNumber owner) const {
    const auto found = move_.owners.find(owner);
    return found != move_.owners.end() && found->second.table ? Result<void>() : unknown();
  }
  [[nodiscard]] Result<void> check_segment(SegmentId segment) const {
    return move_.numbers.contains(segment) ? Result<void>() : unknown();
  }
  [[nodiscard]] Result<void> check_place(OwnerNumber owner, SegmentId segment) const {
    auto known = check_owner(owner);
    return known ? check_segment(segment) : known;
  }
  static std::unexpected<Error> held(const Call& call, const std::string& holder) {
    return fail(ErrorCode::conflict,
                fmt::format("the key of call {} is held by call {}",
                            call_name(call.session, call.position), holder),
                holder);
  }

  const State& state_;
  const ArrivalRow& move_;
  std::set<SegmentId> new_;  // Of this very slice.
};

class Taking {
 public:
  Taking(State& state, ArrivalRow& move) : state_(state), move_(move) {}

  void operator()(const SessionFact& fact) {
    ArrivingOwner& owner = move_.owners[fact.owner];
    owner.born = ++state_.births;
    if (!fact.row) return;
    SessionTable& table = owner.table.emplace();
    table.row = fact.row->summary;
    table.born = owner.born;
    table.grant.fence = fact.row->fence;
    table.chain = fact.row->chain;
    owner.segment = fact.row->segment;
  }

  void operator()(const SegmentFact& fact) {
    ArrivingOwner& owner = move_.owners.at(fact.owner);
    const SegmentId id = ++state_.last_segment;
    move_.numbers[fact.segment] = id;
    SegmentTable& table = move_.segments[id];
    table.owner = owner.born;
    table.segment = {.id = id,
                     .session = owner.table ? owner.table->row.id : SessionId(),
                     .first = fact.first,
                     .parent = {},
                     .parent_position = fact.parent_position};
    if (fact.parent) table.segment.parent = move_.numbers.at(*fact.parent);
    if (owner.table) owner.table->segments.push_back(id);
  }

  void operator()(const PrunedFact& fact) {
    segment(fact.segment)
        .shadows.push_back(
            {.first = fact.first, .upto = fact.upto, .entries = fact.entries, .tally = fact.tally});
  }

  void operator()(const Entry& entry) {
    SegmentTable& table = segment(entry.segment);
    table.entries.push_back({entry, {}});
    table.entries.back().entry.segment = table.segment.id;
  }

  void operator()(const ReceiptFact& fact) {
    session(fact.owner)
        .receipts.emplace(
            fact.receipt.batch,
            ReceiptRow{fact.receipt, fact.number, move_.numbers.at(fact.segment), fact.fence});
  }

  void operator()(const CheckpointFact& fact) {
    session(fact.owner).checkpoints[fact.checkpoint.version] = {fact.checkpoint,
                                                                move_.numbers.at(fact.segment)};
  }

  void operator()(const CallFact& fact) {
    const Call& call = fact.call;
    session(fact.owner).calls.emplace(call.position, call);
    if (call.key && rules::holds_key(call.state)) move_.held.emplace(*call.key, call);
  }

  void operator()(const MessageFact& fact) {
    InboxTable& inbox = session(fact.owner).inbox;
    const InboxMessage& message = fact.message;
    MessageRow row{{}, message.kind, message.body.codec(), message.at};
    if (!fact.consumed) {
      row.arrival = ++state_.messages;
      inbox.pending.emplace(*row.arrival, message);
    }
    inbox.messages.emplace(message.id, std::move(row));
  }

  void operator()(const ClaimFact& fact) {
    const Call& call = fact.call;
    const Digest key = call.key ? *call.key : rules::claim_key(*call.claimed);
    if (state_.key_holders.contains(key) || find_claim(state_, key)) return;
    state_.claims.emplace(key, fact.call);
  }

  void operator()(const ResourceFact& fact) {
    Fence& fence = state_.resources[fact.name].fence;
    fence = std::max(fence, fact.fence + rules::fence_jump);
  }

 private:
  SegmentTable& segment(SegmentId of_source) {
    return move_.segments.at(move_.numbers.at(of_source));
  }
  SessionTable& session(OwnerNumber of_source) { return *move_.owners.at(of_source).table; }

  State& state_;
  ArrivalRow& move_;
};

/// The totals of each entry; those of the segments before must be known.
void add_up(const State& state, SegmentTable& table) {
  Tally total;
  const Segment& segment = table.segment;
  if (segment.parent) total = total_at(state, {*segment.parent, segment.parent_position});
  auto shadow = table.shadows.begin();
  for (EntryRow& row : table.entries) {
    for (; shadow != table.shadows.end() && shadow->upto <= row.entry.position; ++shadow) {
      total += shadow->tally;
    }
    total += row.entry.tally;
    row.total = total;
  }
}

void add_keys(State& state, const SessionTable& session) {
  for (const auto& [position, call] : session.calls) {
    if (!call.key) continue;
    const CallRef ref{session.row.id, position};
    state.calls_by_key[*call.key].push_back(ref);
    if (!rules::holds_key(call.state)) continue;
    state.key_holders[*call.key] = ref;
    state.claims.erase(*call.key);
  }
}

Result<void> take_in(State& state, ArrivalRow& move, const FactSlice& slice) {
  Checking check(state, move);
  for (const Fact& fact : slice.facts) {
    auto checked = std::visit(check, fact);
    if (!checked) return checked;
  }
  Taking take(state, move);
  for (const Fact& fact : slice.facts) std::visit(take, fact);
  return {};
}

void land(State& state, ArrivalRow& move) {
  for (auto& [id, table] : move.segments) {
    SegmentTable& added = state.segments.emplace(id, std::move(table)).first->second;
    add_up(state, added);
  }
  for (ArrivingOwner& owner : move.owners | std::views::values) {
    if (!owner.table) continue;
    SessionTable& session = *owner.table;
    session.grant.fence += rules::fence_jump;
    add_keys(state, session);
    const SessionId id = session.row.id;
    state.sessions.emplace(id, std::move(session));
  }
}

rules::OpenArrival find_open(const State& state, const std::string& from) {
  const auto found = state.arrivals.find(from);
  return found == state.arrivals.end() ? rules::OpenArrival{} : found->second.open;
}

Result<void> mark(State& state, const Destination& to, const std::vector<SessionVersion>& sessions,
                  Uptime uptime) {
  if (sessions.empty()) return rules::not_marked();
  std::vector<SessionId> names;
  names.reserve(sessions.size());
  for (const SessionVersion& version : sessions) names.push_back(version.session);
  if (auto chosen = choose(state, names, uptime); !chosen) return forward(chosen);
  for (const SessionVersion& version : sessions) {
    const SessionSummary& row = state.sessions.at(version.session).row;
    if (auto same = rules::check_unchanged(version, row.revision); !same) return same;
  }
  for (const SessionId& id : names) {
    SessionTable& table = state.sessions.at(id);
    table.grant.owner.reset();
    ++table.grant.fence;
    table.moved.to = to;
    table.row.moved_to = to.place;
    ++table.row.revision;
  }
  return {};
}

}  // namespace

Result<std::vector<OwnerNumber>> MemoryTransfer::find_owners(
    const std::vector<SessionId>& sessions) {
  return base_.state.with([&](State& state) -> Result<std::vector<OwnerNumber>> {
    auto chosen = choose(state, sessions, base_.clock.uptime());
    if (!chosen) return forward(chosen);
    const std::set<OwnerNumber> owners = owners_of(state, *chosen);
    return std::vector<OwnerNumber>(owners.begin(), owners.end());
  });
}

Result<FactSlice> MemoryTransfer::read(const FactSource& source, const FactCursor& from) {
  return base_.state.with([&](State& state) -> Result<FactSlice> {
    if (source.arrival.from.empty()) {
      return read_named(state, {source.owners.begin(), source.owners.end()}, from);
    }
    const auto found = state.arrivals.find(source.arrival.from);
    FactSlice slice =
        read_arriving(found == state.arrivals.end() ? ArrivalRow{} : found->second, from);
    slice.attempt = find_open(state, source.arrival.from).attempt;
    return slice;
  });
}

Result<void> MemoryTransfer::take(const Arrival& arrival, const FactSlice& slice) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto is_new = rules::check_next(arrival, slice, find_open(state, arrival.from));
    if (!is_new) return forward(is_new);
    if (!*is_new) return {};
    ArrivalRow& row = state.arrivals[arrival.from];
    if (auto taken = take_in(state, row, slice); !taken) {
      if (row.open.attempt == 0) state.arrivals.erase(arrival.from);
      return taken;
    }
    row.open = {.attempt = arrival.attempt, .next = slice.next};
    state.note_change();
    return {};
  });
}

Result<void> MemoryTransfer::release(const Arrival& arrival) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto checked = rules::check_release(arrival, find_open(state, arrival.from));
    if (!checked) return checked;
    land(state, state.arrivals.at(arrival.from));
    state.arrivals.erase(arrival.from);
    state.note_change();
    return {};
  });
}

Result<void> MemoryTransfer::discard(const Arrival& arrival) {
  return base_.state.with([&](State& state) -> Result<void> {
    const std::uint64_t open = find_open(state, arrival.from).attempt;
    if (open == 0 || (arrival.attempt != 0 && arrival.attempt != open)) return {};
    state.arrivals.erase(arrival.from);
    state.note_change();
    return {};
  });
}

Result<void> MemoryTransfer::mark_moved(const Destination& to, std::uint64_t attempt,
                                        const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    const auto found = state.marked.find(to.incarnation);
    if (found != state.marked.end() && found->second == attempt) return {};
    auto marked = mark(state, to, sessions, base_.clock.uptime());
    if (!marked) return marked;
    state.marked[to.incarnation] = attempt;
    state.note_change();
    return {};
  });
}

}  // namespace perdure::memory
