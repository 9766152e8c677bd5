// Facts out of a memory store and into one. Each slice looks at all tables again: plain and slow.
// What arrives stays a list of facts until it lands.

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
#include <tuple>
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
#include "perdure/store/sessions.hpp"
#include "rules/calls.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"

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
    // A session's first segment is the one that continues others.
    const SegmentTable* table = &state.segments.at(session.segments.front());
    while (table->segment.parent) {
      table = &state.segments.at(*table->segment.parent);
      owners.insert(table->owner);
    }
  }
  return owners;
}

/// A fact, and the cursor behind it.
struct PlacedFact {
  FactCursor at;
  Fact fact;
};

/// The facts of owners, in their order.
class FactList {
 public:
  FactList(const State& state, const std::set<OwnerNumber>& owners) : state_(state) {
    for (const OwnerNumber owner : owners) sessions_[owner] = nullptr;
    for (const SessionTable& table : state.sessions | std::views::values) {
      if (owners.contains(table.born)) sessions_[table.born] = &table;
    }
    for (const auto& [owner, table] : sessions_) add_session(owner, table);
    for (const auto& [id, table] : state.segments) {
      if (owners.contains(table.owner)) add_segment(id, table);
    }
    for (const OwnerNumber owner : owners) add_entries(owner);
    for (const auto& [owner, table] : sessions_) {
      if (table != nullptr) add_rows(owner, *table);
    }
    for (const auto& [key, call] : state.claims) {
      add({.kind = FactKind::claim, .group = 0, .number = 0, .name = to_hex(key)}, ClaimFact{call});
    }
    for (const auto& [name, grant] : state.resources) {
      add({.kind = FactKind::resource, .group = 0, .number = 0, .name = name},
          ResourceFact{name, grant.fence});
    }
  }

  [[nodiscard]] const std::vector<PlacedFact>& facts() const { return facts_; }

 private:
  void add(FactCursor at, Fact fact) { facts_.push_back({std::move(at), std::move(fact)}); }
  void add(FactKind kind, std::uint64_t group, std::uint64_t number, Fact fact) {
    add({.kind = kind, .group = group, .number = number, .name = {}}, std::move(fact));
  }

  void add_session(OwnerNumber owner, const SessionTable* table) {
    SessionFact fact{.owner = owner, .row = {}};
    if (table != nullptr) {
      fact.row = {.summary = table->row,
                  .segment = table->segments.back(),
                  .commits = table->receipts.size(),
                  .chain = table->chain,
                  .fence = table->grant.fence};
      fact.row->summary.moved_to.clear();
    }
    add(FactKind::session, owner, 0, std::move(fact));
  }

  void add_segment(SegmentId id, const SegmentTable& table) {
    const Segment& segment = table.segment;
    add(FactKind::segment, 0, id,
        SegmentFact{id, table.owner, segment.first, segment.parent, segment.parent_position});
    for (const rules::Shadow& shadow : table.shadows) {
      add(FactKind::pruned, id, shadow.first,
          PrunedFact{id, shadow.first, shadow.upto, shadow.entries, shadow.tally});
    }
  }

  void add_entries(OwnerNumber owner) {
    for (const SegmentTable& table : state_.segments | std::views::values) {
      if (table.owner != owner) continue;
      for (const EntryRow& row : table.entries) {
        add(FactKind::entry, owner, row.entry.position, row.entry);
      }
    }
  }

  void add_rows(OwnerNumber owner, const SessionTable& table) {
    for (const ReceiptRow& row : table.receipts | std::views::values) {
      add(FactKind::receipt, owner, row.number,
          ReceiptFact{owner, row.number, row.segment, row.fence, row.receipt});
    }
    for (const auto& [version, row] : table.checkpoints) {
      add(FactKind::checkpoint, owner, version, CheckpointFact{owner, row.segment, row.checkpoint});
    }
    for (const auto& [position, call] : table.calls) {
      add(FactKind::call, owner, position, CallFact{owner, segment_at(table, position), call});
    }
    for (const auto& [arrival, message] : table.inbox.pending) {
      add(FactKind::waiting, owner, arrival, MessageFact{owner, false, message});
    }
    for (const auto& [id, row] : table.inbox.messages) {
      if (row.arrival) continue;
      const InboxMessage message{table.row.id, id, row.kind, Body::from_stored(row.codec, {}),
                                 row.at};
      add({.kind = FactKind::consumed, .group = owner, .number = 0, .name = id.text()},
          MessageFact{owner, true, message});
    }
  }

  /// The last of the session's segments that begins there or before.
  [[nodiscard]] SegmentId segment_at(const SessionTable& table, Position position) const {
    SegmentId found = 0;
    for (const SegmentId id : table.segments) {
      if (state_.segments.at(id).segment.first <= position) found = id;
    }
    return found;
  }

  const State& state_;
  std::map<OwnerNumber, const SessionTable*> sessions_;  ///< Null: removed.
  std::vector<PlacedFact> facts_;
};

/// Those of an arrival that are not the store's own.
std::vector<PlacedFact> arrived_facts(const ArrivalRow& arrival) {
  std::vector<PlacedFact> facts;
  for (const Fact& fact : arrival.facts) {
    const FactKind kind = rules::kind_of(fact);
    if (kind >= FactKind::claim) continue;
    PlacedFact placed{{.kind = kind, .group = 0, .number = facts.size() + 1, .name = {}}, fact};
    if (auto* session = std::get_if<SessionFact>(&placed.fact);
        session != nullptr && session->row) {
      const auto segment = arrival.numbers.segments.find(session->row->segment);
      session->row->segment = segment == arrival.numbers.segments.end() ? 0 : segment->second;
    }
    facts.push_back(std::move(placed));
  }
  return facts;
}

FactSlice slice_of(std::vector<PlacedFact> facts, const FactCursor& from) {
  const auto order = [](const PlacedFact& placed) {
    return std::tie(placed.at.kind, placed.at.group, placed.at.number, placed.at.name);
  };
  std::ranges::sort(facts, {}, order);
  auto next = std::ranges::upper_bound(
      facts, std::tie(from.kind, from.group, from.number, from.name), {}, order);
  rules::SliceMaker slice(from);
  do {
    for (; next != facts.end() && next->at.kind == slice.at().kind && !slice.is_full(); ++next) {
      slice.add(next->at, std::move(next->fact));
    }
  } while (!slice.is_full() && slice.go_on());
  return std::move(slice).finish();
}

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

/// Takes facts into an arrival, under numbers of this store.
class Taking {
 public:
  Taking(State& state, ArrivalRow& arrival) : state_(state), arrival_(arrival) {}

  Result<void> take(Fact fact) {
    if (const auto* session = std::get_if<SessionFact>(&fact)) {
      arrival_.numbers.owners[session->owner] = ++state_.births;
    } else if (const auto* segment = std::get_if<SegmentFact>(&fact)) {
      arrival_.numbers.segments[segment->segment] = ++state_.last_segment;
    }
    if (!rules::renumber(fact, arrival_.numbers)) {
      return fail(ErrorCode::corrupted,
                  "a fact refers to a session or a segment that is not there");
    }
    if (auto checked = std::visit([this](const auto& one) { return check(one); }, fact); !checked) {
      return checked;
    }
    arrival_.facts.push_back(std::move(fact));
    return {};
  }

 private:
  [[nodiscard]] Result<void> check(const SessionFact& fact) const {
    if (!fact.row) return {};
    const SessionId& id = fact.row->summary.id;
    if (!state_.sessions.contains(id) && !is_arriving(state_, id)) return {};
    return fail(ErrorCode::already_exists, fmt::format("there is a session {} already", id.text()),
                id.text());
  }
  [[nodiscard]] Result<void> check(const Entry& entry) const {
    return require_blob(state_, entry.body);
  }
  [[nodiscard]] Result<void> check(const CallFact& fact) const {
    const Call& call = fact.call;
    if (!rules::held_key(call)) return {};
    const auto holder = state_.key_holders.find(*call.key);
    if (holder != state_.key_holders.end()) {
      return held(call, call_name(holder->second.session, holder->second.position));
    }
    // What it left when it was here before, and went, is its own.
    const auto claim = find_claim(state_, *call.key);
    if (!claim || (claim->session == call.session && claim->position == call.position)) return {};
    return held(call, call_name(claim->session, claim->position));
  }
  [[nodiscard]] Result<void> check(const MessageFact& fact) const {
    return fact.consumed ? Result<void>() : require_blob(state_, fact.message.body);
  }
  [[nodiscard]] static Result<void> check(const ClaimFact& fact) {
    if (fact.call.key || fact.call.claimed) return {};
    return fail(ErrorCode::corrupted, "a claim is of no key");
  }
  [[nodiscard]] static Result<void> check(const auto& /*fact*/) { return {}; }

  static std::unexpected<Error> held(const Call& call, const std::string& holder) {
    return fail(ErrorCode::conflict,
                fmt::format("the key of call {} is held by call {}",
                            call_name(call.session, call.position), holder),
                holder);
  }

  State& state_;
  ArrivalRow& arrival_;
};

/// Makes tables of facts that arrived. Those of a removed session are not found without it.
class Landing {
 public:
  explicit Landing(State& state) : state_(state) {}

  void operator()(const SessionFact& fact) {
    if (!fact.row) return;
    SessionTable& table = sessions_[fact.owner];
    table.row = fact.row->summary;
    table.born = fact.owner;
    table.grant.fence = fact.row->fence + rules::fence_jump;
    table.chain = fact.row->chain;
  }

  void operator()(const SegmentFact& fact) {
    SessionTable* owner = find(fact.owner);
    segments_.insert(fact.segment);
    state_.segments[fact.segment] = {
        .segment = {.id = fact.segment,
                    .session = owner == nullptr ? SessionId() : owner->row.id,
                    .first = fact.first,
                    .parent = fact.parent,
                    .parent_position = fact.parent_position},
        .owner = fact.owner,
        .entries = {},
        .shadows = {}};
    if (owner != nullptr) owner->segments.push_back(fact.segment);
  }

  void operator()(const PrunedFact& fact) {
    state_.segments.at(fact.segment)
        .shadows.push_back(
            {.first = fact.first, .upto = fact.upto, .entries = fact.entries, .tally = fact.tally});
  }

  void operator()(const Entry& entry) {
    state_.segments.at(entry.segment).entries.push_back({entry, {}});
  }

  void operator()(const ReceiptFact& fact) {
    if (SessionTable* session = find(fact.owner)) {
      session->receipts.emplace(fact.receipt.batch,
                                ReceiptRow{fact.receipt, fact.number, fact.segment, fact.fence});
    }
  }

  void operator()(const CheckpointFact& fact) {
    if (SessionTable* session = find(fact.owner)) {
      session->checkpoints[fact.checkpoint.version] = {fact.checkpoint, fact.segment};
    }
  }

  void operator()(const CallFact& fact) {
    if (SessionTable* session = find(fact.owner)) {
      session->calls.emplace(fact.call.position, fact.call);
    }
  }

  void operator()(const MessageFact& fact) {
    SessionTable* session = find(fact.owner);
    if (session == nullptr) return;
    const InboxMessage& message = fact.message;
    MessageRow row{{}, message.kind, message.body.codec(), message.at};
    if (!fact.consumed) {
      row.arrival = ++state_.messages;
      session->inbox.pending.emplace(*row.arrival, message);
    }
    session->inbox.messages.emplace(message.id, std::move(row));
  }

  void operator()(const ClaimFact& fact) {
    const Digest key = rules::key_of_claim(fact.call);
    if (!state_.key_holders.contains(key)) state_.claims.emplace(key, fact.call);
  }

  void operator()(const ResourceFact& fact) {
    Fence& fence = state_.resources[fact.name].fence;
    fence = std::max(fence, fact.fence + rules::fence_jump);
  }

  void finish() {
    for (const SegmentId id : segments_) add_up(state_, state_.segments.at(id));
    for (SessionTable& session : sessions_ | std::views::values) {
      add_keys(state_, session);
      const SessionId id = session.row.id;
      state_.sessions.emplace(id, std::move(session));
    }
  }

 private:
  SessionTable* find(OwnerNumber owner) {
    const auto found = sessions_.find(owner);
    return found == sessions_.end() ? nullptr : &found->second;
  }

  State& state_;
  std::map<OwnerNumber, SessionTable> sessions_;
  std::set<SegmentId> segments_;
};

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

Result<FactSlice> MemoryStore::read(const FactSource& source, const FactCursor& from) {
  return base_.state.with([&](State& state) -> Result<FactSlice> {
    FactSlice slice;
    if (!source.arrival.from.empty()) {
      const auto found = state.arrivals.find(source.arrival.from);
      const ArrivalRow arrival = found == state.arrivals.end() ? ArrivalRow{} : found->second;
      slice = slice_of(arrived_facts(arrival), from);
      slice.attempt = arrival.open.attempt;
      for (const auto& [place, row] : state.arrivals) {
        slice.arrivals.push_back({.from = place, .attempt = row.open.attempt});
      }
      return slice;
    }
    std::set<OwnerNumber> owners(source.owners.begin(), source.owners.end());
    if (source.names_sessions()) {
      auto chosen = choose(state, source.sessions, base_.clock.uptime());
      if (!chosen) return forward(chosen);
      owners = owners_of(state, *chosen);
    }
    slice = slice_of(FactList(state, owners).facts(), from);
    slice.owners.assign(owners.begin(), owners.end());
    return slice;
  });
}

Result<void> MemoryStore::take(const Arrival& arrival, const FactSlice& slice) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto is_new = rules::check_next(arrival, slice, find_open(state, arrival.from));
    if (!is_new) return forward(is_new);
    if (!*is_new) return {};
    // All of the slice or nothing.
    ArrivalRow row = state.arrivals[arrival.from];
    if (slice.from.is_end()) {
      state.arrivals.erase(arrival.from);
      Landing land(state);
      for (const Fact& fact : row.facts) std::visit(land, fact);
      land.finish();
      state.note_change();
      return {};
    }
    Taking taking(state, row);
    for (const Fact& fact : slice.facts) {
      if (auto taken = taking.take(fact); !taken) {
        if (row.open.attempt == 0) state.arrivals.erase(arrival.from);
        return taken;
      }
    }
    row.open = {.attempt = arrival.attempt, .next = slice.next};
    state.arrivals[arrival.from] = std::move(row);
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::discard(const Arrival& arrival) {
  return base_.state.with([&](State& state) -> Result<void> {
    const std::uint64_t open = find_open(state, arrival.from).attempt;
    if (open == 0 || (arrival.attempt != 0 && arrival.attempt != open)) return {};
    state.arrivals.erase(arrival.from);
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::mark_moved(const Destination& to, std::uint64_t attempt,
                                     const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    // Whatever the target is called by now: one that was restored has another incarnation.
    if (std::ranges::any_of(state.marked,
                            [&](const auto& mark) { return mark.second == attempt; })) {
      return {};
    }
    auto marked = mark(state, to, sessions, base_.clock.uptime());
    if (!marked) return marked;
    state.marked[to.incarnation] = attempt;
    state.note_change();
    return {};
  });
}

}  // namespace perdure::memory
