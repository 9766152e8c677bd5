// Calls first, then the batch that holds them.

#include "sqlite/engine/commit.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "store/api/lookup.hpp"

namespace perdure::sqlite {

// All writers of a store take turns, so looking for a key's holder and taking the
// key in the same transaction is one atomic claim.

namespace {

/// The commit the changes belong to, after its entries were appended.
struct CallScope {
  SessionId id;
  std::int64_t session = 0;
  SegmentId segment = 0;
  Fence fence = 0;
  Position first = 0;
  Position head = 0;
  Timestamp at{};
};

std::optional<Call> find_call(Connection& db, std::int64_t session, Position position) {
  Rows rows =
      db.query(sql(select_call, "WHERE c.session = ? AND c.position = ?"), session, position);
  if (!rows.next()) return std::nullopt;
  return read_call(rows);
}

Result<Call> require_call(Connection& db, const CallScope& scope, Position position) {
  if (auto call = find_call(db, scope.session, position)) return *std::move(call);
  return fail(ErrorCode::conflict,
              fmt::format("there is no call {}", call_name(scope.id, position)),
              call_name(scope.id, position));
}

std::unexpected<Error> held(const Call& call, const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("the key of call {} is held by call {}, which is {}",
                          call_name(call.session, call.position), name, to_string(holder.state)),
              name);
}

Result<void> check_key_free(Connection& db, const Call& call) {
  if (!call.key) return {};
  // Never the call itself, whatever its name: that session is gone.
  if (Rows claims = db.query(select_claim, *call.key); claims.next()) {
    return held(call, read_call(claims));
  }
  Rows rows = db.query(sql(select_listed_call, where_holds_key), *call.key);
  while (rows.next()) {
    const Call other = read_listed_call(rows);
    const bool same = other.session == call.session && other.position == call.position;
    if (!same && rules::holds_key(other.state)) return held(call, other);
  }
  return {};
}

Result<void> check_on_line(Connection& db, const CallScope& scope, Position position,
                           std::string_view what) {
  const auto holds = [&](const Part& part) {
    return position >= part.first && position <= part.last &&
           entry_exists(db, {part.segment, position});
  };
  // Most positions are in the batch itself, and need no look at the line before it.
  if (position >= scope.first && position <= scope.head) return {};
  if (std::ranges::any_of(line_to(db, {scope.segment, scope.head}), holds)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("the {} of a call cannot be at position {}: the line to {} has no such "
                          "entry",
                          what, position, scope.head));
}

void insert_call(Connection& db, const CallScope& scope, const Call& call) {
  db.run(
      "INSERT INTO call (session, position, args, result, tool, provider_id, effect, key, state, "
      "attempts, failures, fence, segment, intended_at, who, why) "
      "VALUES (?, ?, ?, NULL, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, '', '')",
      scope.session, call.position, call.args, call.tool, call.provider_id, to_string(call.effect),
      call.key, to_string(call.state), scope.segment, call.intended_at);
}

void update_call(Connection& db, const CallScope& scope, const Call& call) {
  db.run(
      "UPDATE call SET result = ?, state = ?, attempts = ?, failures = ?, fence = ?, "
      "dispatched_at = ?, deadline = ?, settled_at = ?, who = ?, why = ? "
      "WHERE session = ? AND position = ?",
      call.result, to_string(call.state), call.attempts, call.failures, call.fence,
      call.dispatched_at, call.deadline, call.settled_at, call.who, call.why, scope.session,
      call.position);
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Intend& intent) {
  if (intent.call < scope.first || intent.call > scope.head) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the intent of a call must be an entry of its batch; {} is not", intent.call));
  }
  if (auto args = check_on_line(db, scope, intent.args, "arguments"); !args) return forward(args);
  if (find_call(db, scope.session, intent.call)) {
    const std::string name = call_name(scope.id, intent.call);
    return fail(ErrorCode::already_exists, fmt::format("call {} is written down twice", name),
                name);
  }
  insert_call(db, scope, rules::intended(scope.id, intent, scope.at));
  return 0;
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Dispatch& change) {
  auto call = require_call(db, scope, change.call);
  if (!call) return forward(call);
  const bool was_in_doubt = call->state == CallState::in_doubt;
  const bool was_claimed = call->claimed.has_value();
  if (auto moved = rules::dispatch(*call, change, scope.fence, scope.at); !moved) {
    return forward(moved);
  }
  if (auto free = check_key_free(db, *call); !free) return forward(free);
  update_call(db, scope, *call);
  if (was_claimed) {
    db.run("UPDATE call SET key = claimed, claimed = NULL WHERE session = ? AND position = ?",
           scope.session, call->position);
  }
  return was_in_doubt ? -1 : 0;
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Settle& change) {
  auto call = require_call(db, scope, change.call);
  if (!call) return forward(call);
  const bool was_in_doubt = call->state == CallState::in_doubt;
  if (auto moved = rules::settle(*call, change, scope.at); !moved) return forward(moved);
  if (change.result) {
    auto result = check_on_line(db, scope, *change.result, "result");
    if (!result) return forward(result);
  }
  update_call(db, scope, *call);
  return (call->state == CallState::in_doubt ? 1 : 0) - (was_in_doubt ? 1 : 0);
}

// In order. Returns by how much the number of calls in doubt changed.
Result<std::int64_t> apply_calls(Connection& db, const CallScope& scope,
                                 const std::vector<CallChange>& changes) {
  std::int64_t attention = 0;
  for (const CallChange& change : changes) {
    auto difference = std::visit([&](const auto& step) { return apply(db, scope, step); }, change);
    if (!difference) return difference;
    attention += *difference;
  }
  return attention;
}

// The main path of the store. The order of the checks is the contract's: receipt,
// lease, head, then everything else; any failure leaves the savepoint to undo what
// was written before it.

// What a commit reads and writes of the session's row.
struct State {
  std::int64_t session = 0;
  SegmentId segment = 0;
  Position head = 0;
  Position next = 0;
  Version version = 0;
  std::int64_t commits = 0;
  Digest chain{};
  Tally tally;
  std::int64_t attention = 0;
  Fence fence = 0;
  std::optional<WorkerId> owner;
  Status status = Status::active;
};

Result<State> read_state(Connection& db, const SessionId& id) {
  Rows rows = db.query(
      "SELECT s.num, s.segment, s.head, s.next, s.version, s.commits, s.chain, s.turns, s.steps, "
      "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.fence, w.id, s.status "
      "FROM session s LEFT JOIN worker w ON w.num = s.owner WHERE s.id = ?",
      id.text());
  if (!rows.next()) {
    return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()), id.text());
  }
  std::optional<WorkerId> owner;
  if (!rows.is_null(14)) owner = stored_id<WorkerId>(rows.text(14));
  return State{.session = rows.integer(0),
               .segment = rows.number(1),
               .head = rows.number(2),
               .next = rows.number(3),
               .version = rows.number(4),
               .commits = rows.integer(5),
               .chain = rows.digest(6),
               .tally = read_tally(rows, 7),
               .attention = rows.integer(12),
               .fence = rows.number(13),
               .owner = std::move(owner),
               .status = status_from(rows.text(15)).value_or(Status::paused)};
}

std::optional<Receipt> find_receipt(Connection& db, std::int64_t session, const BatchId& batch) {
  Rows rows = db.query(select_receipt, session, batch.text());
  if (!rows.next()) return std::nullopt;
  return read_receipt(rows);
}

Result<void> check_right_to_write(const State& state, const Lease& lease, const Batch& batch) {
  const rules::Standing standing{.owner = state.owner, .fence = state.fence, .head = state.head};
  auto right = rules::check_right_to_write(standing, lease, batch);
  if (right && state.next + batch.entries.size() > position_max) {
    return fail(ErrorCode::invalid_argument, "the session has no positions left: fork it");
  }
  return right;
}

Result<void> branch(Connection& db, State& state, Point point) {
  auto place = resolve(db, state.session, point);
  if (!place) return fail(ErrorCode::invalid_argument, std::move(place.error().message));
  state.segment = open_segment(db, state.session, state.next, *place);
  state.head = place->position;
  state.tally = tally_at(db, *place);
  return {};
}

Result<void> append(Connection& db, State& state, const Batch& batch, const rules::Sealed& sealed) {
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const NewEntry& entry = batch.entries[i];
    const Tally& tally = entry.tally;
    if (auto there = require_blob(db, entry.body); !there) return there;
    db.run(
        "INSERT INTO entry (id, channel, kind, fold, codec, at, turns, steps, tokens_in, "
        "tokens_out, cost_micros, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        entry_key(state.segment, state.next), entry.channel, entry.kind,
        static_cast<int>(entry.fold), static_cast<int>(entry.body.codec()),
        entry.at.value_or(sealed.at), unless_zero(tally.turns), unless_zero(tally.steps),
        unless_zero(tally.tokens_in), unless_zero(tally.tokens_out), unless_zero(tally.cost_micros),
        sealed.hashes[i], entry.body);
    state.head = state.next++;
    state.tally += tally;
  }
  return {};
}

Result<void> consume(Connection& db, const State& state, const Batch& batch) {
  for (const MessageId& message : batch.consumed) {
    db.run(
        "UPDATE message SET consumed = 1, body = NULL "
        "WHERE session = ? AND id = ? AND consumed = 0",
        state.session, message.text());
    if (db.changes() == 1) continue;
    return fail(ErrorCode::conflict,
                fmt::format("message {} is not waiting in the inbox: it was consumed before or "
                            "never posted",
                            message.text()),
                message.text());
  }
  return {};
}

Result<void> check_end(Connection& db, const State& state, const Lease& lease, const Batch& batch) {
  if (!batch.status || !rules::is_settled_end(batch.status->status)) return {};
  const auto open = db.find_integer(
      "SELECT min(position) FROM call WHERE session = ? "
      "AND state IN ('intended', 'dispatched', 'in_doubt')",
      state.session);
  if (!open) return {};
  return rules::refuse_end(lease.session, static_cast<Position>(*open));
}

void name_head(Connection& db, State& state, const NewCheckpoint& checkpoint, Timestamp at) {
  ++state.version;
  const Tally& tally = state.tally;
  db.run(
      "INSERT INTO checkpoint (session, version, segment, position, at, reason, label, metadata, "
      "turns, steps, tokens_in, tokens_out, cost_micros) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      state.session, state.version, state.segment, state.head, at, checkpoint.reason,
      checkpoint.label, checkpoint.metadata, tally.turns, tally.steps, tally.tokens_in,
      tally.tokens_out, tally.cost_micros);
}

// A message posted just before the session began to wait must not wait with it.
void wake_if_messages_wait(Connection& db, const State& state, Timestamp now) {
  db.run(
      "UPDATE session SET wake_at = min(coalesce(wake_at, ?1), ?1) WHERE num = ?2 "
      "AND status = 'waiting' AND EXISTS "
      "(SELECT 1 FROM message WHERE session = ?2 AND consumed = 0)",
      now, state.session);
}

void update_session(Connection& db, const State& state, const Batch& batch, Timestamp at) {
  const Tally& tally = state.tally;
  db.run(
      "UPDATE session SET updated_at = ?, segment = ?, head = ?, next = ?, version = ?, "
      "commits = ?, revision = revision + 1, chain = ?, turns = ?, steps = ?, tokens_in = ?, "
      "tokens_out = ?, cost_micros = ?, attention = ? WHERE num = ?",
      at, state.segment, state.head, state.next, state.version, state.commits, state.chain,
      tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros,
      state.attention, state.session);
  // Apart from the row's hot part: these columns are indexed.
  if (batch.status) {
    db.run(
        "UPDATE session SET status = ?, wait_reason = ?, wake_at = ?, restored = 0 WHERE num = ?",
        to_string(batch.status->status), batch.status->wait_reason, batch.status->wake_at,
        state.session);
    wake_if_messages_wait(db, state, at);
  }
  if (batch.annotation) update_annotation(db, state.session, *batch.annotation);
}

void insert_receipt(Connection& db, const State& state, const Receipt& receipt) {
  db.run(
      "INSERT INTO receipt (session, batch, number, segment, first, count, head, version, at, "
      "fence, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      state.session, receipt.batch.text(), state.commits, state.segment, receipt.first,
      receipt.count, receipt.head, receipt.version, receipt.at, state.fence, receipt.chain);
}

}  // namespace

void write_frame(Connection& db) {
  db.run("UPDATE meta SET value = value + 1 WHERE key = 'syncs'");
}

Result<Committed> apply_batch(Connection& db, const Lease& lease, const Batch& batch,
                              const rules::Sealed& sealed) {
  auto state = read_state(db, lease.session);
  if (!state) return forward(state);
  if (auto known = find_receipt(db, state->session, batch.id)) {
    // The first answer may have been lost before its sync: this one must not rest on less.
    if (rules::sync_of(batch) == Sync::now) write_frame(db);
    return Committed{*std::move(known), true};
  }
  if (auto right = check_right_to_write(*state, lease, batch); !right) return forward(right);
  if (auto begins = rules::check_begins(batch, state->status); !begins) return forward(begins);

  if (batch.branch_from) {
    if (auto moved = branch(db, *state, *batch.branch_from); !moved) return forward(moved);
  }
  const Position from = state->head;
  const Position first = state->next;
  if (auto added = append(db, *state, batch, sealed); !added) return forward(added);
  const CallScope scope{.id = lease.session,
                        .session = state->session,
                        .segment = state->segment,
                        .fence = state->fence,
                        .first = first,
                        .head = state->head,
                        .at = sealed.at};
  auto attention = apply_calls(db, scope, batch.calls);
  if (!attention) return forward(attention);
  state->attention += *attention;
  if (auto taken = consume(db, *state, batch); !taken) return forward(taken);

  ++state->commits;
  state->chain = rules::chain_next(state->chain, sealed.seal, from, first);
  if (batch.checkpoint) name_head(db, *state, *batch.checkpoint, sealed.at);
  update_session(db, *state, batch, sealed.at);
  for (const NewSession& child : batch.children) {
    if (auto made = insert_session(db, child, sealed.at); !made) return forward(made);
  }
  if (auto may_end = check_end(db, *state, lease, batch); !may_end) return forward(may_end);
  Receipt receipt{.batch = batch.id,
                  .first = first,
                  .count = batch.entries.size(),
                  .head = state->head,
                  .version = {},
                  .at = sealed.at,
                  .chain = state->chain};
  if (batch.checkpoint) receipt.version = state->version;
  insert_receipt(db, *state, receipt);
  return Committed{std::move(receipt), false};
}

Result<Committed> apply_first(Connection& db, const Workers& workers, const NewSession& session,
                              const Lease& lease, const First& first) {
  const auto there = find_session(db, session.id);
  if (!there || !find_receipt(db, *there, first.batch.id)) {
    auto worker = require_live_worker(db, workers, lease.worker);
    if (!worker) return forward(worker);
    auto made = insert_session(db, session, first.sealed.at);
    if (!made) return forward(made);
    db.run("UPDATE session SET owner = ?, owned_since = ?, fence = ? WHERE id = ?", *worker,
           first.sealed.at, lease.fence, session.id.text());
  }
  return apply_batch(db, lease, first.batch, first.sealed);
}

}  // namespace perdure::sqlite
