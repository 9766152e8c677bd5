// What goes, and what it is made of. Each slice looks at everything anew: plain and slow.

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "memory/transit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/transfer.hpp"
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

/// All there is of a move, wherever it is kept.
struct Contents {
  struct Session {
    const SessionTable* table = nullptr;
    SegmentId segment = 0;
  };
  std::map<OwnerNumber, Session> owners;
  std::map<SegmentId, const SegmentTable*> segments;
  std::map<OwnerNumber, std::vector<const SegmentTable*>> segments_of;  ///< In their order.
  /// Of the store; empty where nobody asks for them.
  std::map<Digest, Call> claims;
  std::map<std::string, Grant> resources;
};

void add_segment(Contents& contents, const SegmentTable& table) {
  contents.segments[table.segment.id] = &table;
  contents.segments_of[table.owner].push_back(&table);
}

class Reading {
 public:
  Reading(const Contents& contents, const FactCursor& from) : contents_(contents), slice_(from) {}

  FactSlice read() && {
    do {
      read_kind();
    } while (!slice_.is_full() && slice_.go_on());
    return std::move(slice_).finish();
  }

 private:
  void read_kind() {
    switch (slice_.at().kind) {
      case FactKind::session:
        return read_sessions();
      case FactKind::segment:
        return read_segments();
      case FactKind::pruned:
        return read_pruned();
      case FactKind::entry:
        return read_entries();
      case FactKind::claim:
        return read_claims();
      case FactKind::resource:
        return read_resources();
      case FactKind::none:
        return;
      default:
        break;
    }
    for (const auto& [owner, session] : contents_.owners) {
      if (session.table != nullptr && owner >= slice_.at().group) read_of(owner, *session.table);
    }
  }

  void read_of(OwnerNumber owner, const SessionTable& table) {
    switch (slice_.at().kind) {
      case FactKind::receipt:
        return read_receipts(owner, table);
      case FactKind::checkpoint:
        for (const auto& [version, row] : table.checkpoints) {
          add(owner, version, CheckpointFact{owner, row.segment, row.checkpoint});
        }
        return;
      case FactKind::call:
        for (const auto& [position, call] : table.calls) {
          add(owner, position, CallFact{owner, segment_at(owner, position), call});
        }
        return;
      case FactKind::waiting:
        for (const auto& [arrival, message] : table.inbox.pending) {
          add(owner, arrival, MessageFact{owner, false, message});
        }
        return;
      default:
        return read_consumed(owner, table);
    }
  }

  /// Unless the cursor is behind it, or the slice is full.
  void add(std::uint64_t group, std::uint64_t number, Fact fact) {
    const FactCursor& at = slice_.at();
    if (slice_.is_full() || std::pair(group, number) <= std::pair(at.group, at.number)) return;
    const FactKind kind = at.kind;
    slice_.add(std::move(fact), {.kind = kind, .group = group, .number = number, .name = {}});
  }

  void add(std::uint64_t group, const std::string& name, Fact fact) {
    const FactCursor& at = slice_.at();
    if (slice_.is_full() || std::pair(group, name) <= std::pair(at.group, at.name)) return;
    const FactKind kind = at.kind;
    slice_.add(std::move(fact), {.kind = kind, .group = group, .number = 0, .name = name});
  }

  void read_sessions() {
    for (const auto& [owner, session] : contents_.owners) {
      SessionFact fact{.owner = owner, .row = {}};
      if (session.table != nullptr) {
        const SessionTable& table = *session.table;
        fact.row = {.summary = table.row,
                    .segment = session.segment,
                    .commits = table.receipts.size(),
                    .chain = table.chain,
                    .fence = table.grant.fence};
        rules::show({}, fact.row->summary);
      }
      add(owner, 0, std::move(fact));
    }
  }

  void read_segments() {
    for (const auto& [id, table] : contents_.segments) {
      const Segment& segment = table->segment;
      add(0, id,
          SegmentFact{id, table->owner, segment.first, segment.parent, segment.parent_position});
    }
  }

  void read_pruned() {
    for (const auto& [id, table] : contents_.segments) {
      for (const rules::Shadow& shadow : table->shadows) {
        add(id, shadow.first,
            PrunedFact{id, shadow.first, shadow.upto, shadow.entries, shadow.tally});
      }
    }
  }

  void read_entries() {
    for (const auto& [owner, segments] : contents_.segments_of) {
      if (owner < slice_.at().group) continue;
      for (const SegmentTable* table : segments) {
        for (const EntryRow& row : table->entries) add(owner, row.entry.position, row.entry);
      }
    }
  }

  void read_receipts(OwnerNumber owner, const SessionTable& table) {
    std::map<std::uint64_t, const ReceiptRow*> rows;
    for (const ReceiptRow& row : table.receipts | std::views::values) rows[row.number] = &row;
    for (const auto& [number, row] : rows) {
      add(owner, number, ReceiptFact{owner, number, row->segment, row->fence, row->receipt});
    }
  }

  void read_consumed(OwnerNumber owner, const SessionTable& table) {
    for (const auto& [id, row] : table.inbox.messages) {
      if (row.arrival) continue;
      add(owner, id.text(),
          MessageFact{
              owner,
              true,
              {table.row.id, id, row.kind, Body::from_stored(row.codec, std::string()), row.at}});
    }
  }

  void read_claims() {
    for (const auto& [key, call] : contents_.claims) add(0, to_hex(key), ClaimFact{call});
  }

  void read_resources() {
    for (const auto& [name, grant] : contents_.resources) {
      add(0, name, ResourceFact{name, grant.fence});
    }
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
  rules::SliceMaker slice_;
};

}  // namespace

Result<std::set<SessionId>> choose(const State& state, const Destination& to,
                                   const std::vector<SessionId>& sessions, Uptime uptime) {
  const std::set<SessionId> here = all_here(state);
  std::set<SessionId> chosen = sessions.empty() ? here : std::set<SessionId>();
  for (const SessionId& id : sessions) {
    auto table = find_session(state, id);
    if (!table) return forward(table);
    auto free = rules::check_free_to_go(id, (*table)->moved, to);
    if (!free) return forward(free);
    if ((*table)->moved.is_here()) chosen.insert(id);
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

FactSlice read_departing(const State& state, const std::set<OwnerNumber>& owners,
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
  return Reading(contents, from).read();
}

FactSlice read_arriving(const ArrivalRow& move, const FactCursor& from) {
  Contents contents;
  for (const ArrivingOwner& owner : move.owners | std::views::values) {
    const auto segment = move.numbers.find(owner.segment);
    contents.owners[owner.born] = {.table = owner.table ? &*owner.table : nullptr,
                                   .segment = segment == move.numbers.end() ? 0 : segment->second};
  }
  for (const SegmentTable& table : move.segments | std::views::values) add_segment(contents, table);
  return Reading(contents, from).read();
}

}  // namespace perdure::memory
