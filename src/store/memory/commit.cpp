// Calls first, then the batch that holds them.

#include "memory/commit.hpp"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/calls.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"

namespace perdure::memory {

// A key has at most one holder at a time, so the table of holders can follow each
// change of a call: who enters a holding state takes the key, who leaves one frees it.

namespace {

class CallWriter {
 public:
  CallWriter(State& state, Undo& undo, SessionTable& session, const CallScope& scope)
      : state_(state), undo_(undo), session_(session), scope_(scope) {}

  Result<void> apply(const Intend& intent) {
    if (intent.call < scope_.first || intent.call > scope_.head) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the intent of a call must be an entry of its batch; {} is not",
                              intent.call));
    }
    auto args = check_position("arguments", intent.args);
    if (!args) return args;
    const std::string name = call_name(session_.row.id, intent.call);
    if (session_.calls.contains(intent.call)) {
      return fail(ErrorCode::already_exists, fmt::format("call {} is written down twice", name),
                  name);
    }
    undo_.of_key(session_.calls, intent.call);
    session_.calls.emplace(intent.call, rules::intended(session_.row.id, intent, scope_.at));
    if (intent.key) add_to_key(*intent.key, intent.call);
    return {};
  }

  Result<void> apply(const Dispatch& change) {
    auto found = find(change.call);
    if (!found) return forward(found);
    Call call = **found;
    auto moved = rules::dispatch(call, change, scope_.fence, scope_.at);
    if (!moved) return moved;
    auto free = check_key_free(call);
    if (!free) return free;
    replace(**found, call);
    return {};
  }

  Result<void> apply(const Settle& change) {
    auto found = find(change.call);
    if (!found) return forward(found);
    Call call = **found;
    auto moved = rules::settle(call, change, scope_.at);
    if (!moved) return moved;
    if (change.result) {
      auto result = check_position("result", *change.result);
      if (!result) return result;
    }
    replace(**found, call);
    return {};
  }

 private:
  void add_to_key(const Digest& key, Position call) {
    if (!state_.calls_by_key.contains(key)) undo_.of_key(state_.calls_by_key, key);
    std::vector<CallRef>& calls = state_.calls_by_key[key];
    undo_.of_end(calls);
    calls.push_back({session_.row.id, call});
  }

  Result<Call*> find(Position position) {
    const auto found = session_.calls.find(position);
    if (found != session_.calls.end()) return &found->second;
    const std::string name = call_name(session_.row.id, position);
    return fail(ErrorCode::conflict, fmt::format("there is no call {}", name), name);
  }

  Result<void> check_position(std::string_view what, Position position) const {
    if (is_on_line(state_, head_of(session_), position)) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("the {} of a call cannot be at position {}: the line to {} has no "
                            "such entry",
                            what, position, scope_.head));
  }

  Result<void> check_key_free(const Call& call) const {
    if (!call.key) return {};
    if (const auto claim = find_claim(state_, *call.key)) {
      return held(call, call_name(claim->session, claim->position));
    }
    const auto holder = state_.key_holders.find(*call.key);
    const CallRef self{call.session, call.position};
    if (holder == state_.key_holders.end() || holder->second == self) return {};
    return held(call, call_name(holder->second.session, holder->second.position));
  }

  static std::unexpected<Error> held(const Call& call, const std::string& holder) {
    return fail(ErrorCode::conflict,
                fmt::format("the key of call {} is held by call {}",
                            call_name(call.session, call.position), holder),
                holder);
  }

  void replace(Call& stored, const Call& call) {
    undo_.of_value(stored);
    if (stored.state == CallState::in_doubt) --session_.row.attention;
    if (call.state == CallState::in_doubt) ++session_.row.attention;
    if (call.key && !stored.key) add_to_key(*call.key, call.position);
    const auto held = rules::held_key(call);
    if (call.key && held != rules::held_key(stored)) {
      undo_.of_key(state_.key_holders, *call.key);
      if (held) {
        state_.key_holders[*call.key] = {call.session, call.position};
      } else {
        state_.key_holders.erase(*call.key);
      }
    }
    stored = call;
  }

  State& state_;
  Undo& undo_;
  SessionTable& session_;
  const CallScope& scope_;
};

}  // namespace

std::optional<Call> find_claim(const State& state, const Digest& key) {
  const auto claim = state.claims.find(key);
  if (claim != state.claims.end()) return claim->second;
  for (const ArrivalRow& arrival : state.arrivals | std::views::values) {
    for (const Fact& fact : arrival.facts) {
      if (const auto* removed = std::get_if<ClaimFact>(&fact)) {
        if (rules::key_of_claim(removed->call) == key) return removed->call;
      } else if (const auto* call = std::get_if<CallFact>(&fact)) {
        if (rules::held_key(call->call) == key) return rules::claim_of(call->call);
      }
    }
  }
  return std::nullopt;
}

Result<void> apply_calls(State& state, Undo& undo, SessionTable& session, const CallScope& scope,
                         const std::vector<CallChange>& changes) {
  CallWriter writer(state, undo, session, scope);
  for (const CallChange& change : changes) {
    auto applied = std::visit([&](const auto& step) { return writer.apply(step); }, change);
    if (!applied) return applied;
  }
  return {};
}

// A commit, step by step in the order of the contract. A step checks and then
// applies what it has checked; if a later one fails, Undo takes all of them back.

namespace {

rules::Standing standing_of(const SessionTable& table) {
  rules::Standing standing{.owner = {}, .fence = table.grant.fence, .head = table.row.head};
  if (table.grant.owner) standing.owner = table.grant.owner->worker;
  return standing;
}

Result<void> branch(State& state, Undo& undo, SessionTable& table, Point point) {
  auto place = resolve(state, table, point);
  if (!place) return fail(ErrorCode::invalid_argument, std::move(place.error().message));
  const SegmentId segment = open_segment(state, undo,
                                         Segment{.id = 0,
                                                 .session = table.row.id,
                                                 .first = table.row.next,
                                                 .parent = place->segment,
                                                 .parent_position = place->position},
                                         table.born);
  undo.of_end(table.segments);
  table.segments.push_back(segment);
  table.row.head = place->position;
  table.row.tally = total_at(state, *place);
  return {};
}

Result<void> check_blobs(const State& state, const Batch& batch) {
  for (const NewEntry& entry : batch.entries) {
    auto there = require_blob(state, entry.body);
    if (!there) return there;
  }
  return {};
}

void append(State& state, Undo& undo, SessionTable& table, const Batch& batch,
            const rules::Sealed& sealed) {
  SegmentTable& segment = state.segments.at(table.segments.back());
  undo.of_end(segment.entries);
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const NewEntry& entry = batch.entries[i];
    SessionSummary& row = table.row;
    row.head = row.next++;
    row.tally += entry.tally;
    segment.entries.push_back({Entry{.position = row.head,
                                     .segment = segment.segment.id,
                                     .channel = entry.channel,
                                     .kind = entry.kind,
                                     .fold = entry.fold,
                                     .body = entry.body,
                                     .hash = sealed.hashes[i],
                                     .tally = entry.tally,
                                     .at = entry.at.value_or(sealed.at),
                                     .condition = Condition::intact},
                               row.tally});
  }
}

Result<void> consume(Undo& undo, InboxTable& inbox, const std::vector<MessageId>& messages) {
  for (const MessageId& message : messages) {
    const auto found = inbox.messages.find(message);
    if (found == inbox.messages.end() || !found->second.arrival) {
      return fail(ErrorCode::conflict,
                  fmt::format("message {} is not waiting in the inbox: it was consumed before or "
                              "never posted",
                              message.text()),
                  message.text());
    }
    undo.of_key(inbox.pending, *found->second.arrival);
    undo.of_value(found->second);
    inbox.pending.erase(*found->second.arrival);
    found->second.arrival.reset();
  }
  return {};
}

Result<void> check_end(const SessionTable& table, const Batch& batch) {
  if (!batch.status || !rules::is_settled_end(batch.status->status)) return {};
  for (const auto& [position, call] : table.calls) {
    const bool is_open = call.state == CallState::intended || call.state == CallState::dispatched ||
                         call.state == CallState::in_doubt;
    if (is_open) return rules::refuse_end(table.row.id, position);
  }
  return {};
}

void name_head(Undo& undo, SessionTable& table, const NewCheckpoint& checkpoint, Timestamp at) {
  const Version version = ++table.row.version;
  undo.of_key(table.checkpoints, version);
  table.checkpoints[version] = {Checkpoint{.version = version,
                                           .position = table.row.head,
                                           .at = at,
                                           .reason = checkpoint.reason,
                                           .label = checkpoint.label,
                                           .metadata = checkpoint.metadata,
                                           .tally = table.row.tally},
                                table.segments.back()};
}

void update_row(SessionTable& table, const Batch& batch, Timestamp at) {
  SessionSummary& row = table.row;
  if (batch.status) {
    row.status = batch.status->status;
    row.wait_reason = batch.status->wait_reason;
    row.wake_at = batch.status->wake_at;
    row.restored = false;
    // A message posted just before the session began to wait must not wait with it.
    if (row.status == Status::waiting && !table.inbox.pending.empty()) {
      row.wake_at = std::min(row.wake_at.value_or(at), at);
    }
  }
  if (batch.annotation) annotate(row, *batch.annotation);
  row.updated_at = at;
  ++row.revision;
}

/// All of a batch that is known to be new and allowed.
Result<Receipt> apply(State& state, Undo& undo, SessionTable& table, const Batch& batch,
                      const rules::Sealed& sealed) {
  undo.of_value(table.row);
  undo.of_value(table.chain);
  if (batch.branch_from) {
    auto branched = branch(state, undo, table, *batch.branch_from);
    if (!branched) return forward(branched);
  }
  auto staged = check_blobs(state, batch);
  if (!staged) return forward(staged);
  const Position from = table.row.head;
  const Position first = table.row.next;
  append(state, undo, table, batch, sealed);

  const CallScope scope{table.grant.fence, first, table.row.head, sealed.at};
  auto called = apply_calls(state, undo, table, scope, batch.calls);
  if (!called) return forward(called);
  auto consumed = consume(undo, table.inbox, batch.consumed);
  if (!consumed) return forward(consumed);

  table.chain = rules::chain_next(table.chain, sealed.seal, from, first);
  if (batch.checkpoint) name_head(undo, table, *batch.checkpoint, sealed.at);
  update_row(table, batch, sealed.at);
  // Last, so that a child of this very session sees the batch applied.
  for (const NewSession& child : batch.children) {
    auto added = add_session(state, undo, child, sealed.at);
    if (!added) return forward(added);
  }
  if (auto may_end = check_end(table, batch); !may_end) return forward(may_end);

  Receipt receipt{.batch = batch.id,
                  .first = first,
                  .count = batch.entries.size(),
                  .head = table.row.head,
                  .version = {},
                  .at = sealed.at,
                  .chain = table.chain};
  if (batch.checkpoint) receipt.version = table.row.version;
  return receipt;
}

}  // namespace

Result<Receipt> commit(State& state, const Lease& lease, const Batch& batch, Timestamp now) {
  auto table = find_session(state, lease.session);
  if (!table) return forward(table);
  const auto known = (*table)->receipts.find(batch.id);
  if (known != (*table)->receipts.end()) return known->second.receipt;
  auto right = rules::check_right_to_write(standing_of(**table), lease, batch);
  if (!right) return forward(right);
  auto begins = rules::check_begins(batch, (*table)->row.status);
  if (!begins) return forward(begins);

  Undo undo;
  auto receipt = apply(state, undo, **table, batch, rules::seal(batch, now));
  if (!receipt) return receipt;
  (*table)->receipts.emplace(
      batch.id, ReceiptRow{*receipt, (*table)->receipts.size() + 1, (*table)->segments.back(),
                           (*table)->grant.fence});
  undo.keep();
  ++state.counters.commits;
  state.note_change();
  return receipt;
}

Result<Created> create(State& state, const NewSession& session, const WorkerId& worker,
                       const Batch& first, const Clock& clock) {
  const Timestamp now = clock.now();
  const Lease lease{.session = session.id, .worker = worker, .fence = first_fence};
  const auto there = state.sessions.find(session.id);
  const bool is_repeat = there != state.sessions.end() && there->second.receipts.contains(first.id);
  Undo undo;
  if (!is_repeat) {
    if (auto live = require_live(state, worker, clock.uptime()); !live) return forward(live);
    if (auto added = add_session(state, undo, session, now); !added) return forward(added);
    state.sessions.at(session.id).grant = {.owner = Grant::Owner{worker, now},
                                           .fence = lease.fence};
  }
  auto receipt = commit(state, lease, first, now);
  if (!receipt) return forward(receipt);
  undo.keep();
  return Created{lease, *std::move(receipt)};
}

}  // namespace perdure::memory
