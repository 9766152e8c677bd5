// Taking facts in. What can be refused is looked at before anything changes, so that a slice
// is taken in as a whole. Nothing is a session until it lands.

#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "memory/commit.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "memory/transit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "rules/calls.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

namespace {

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

}  // namespace

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

}  // namespace perdure::memory
