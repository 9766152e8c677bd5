// Facts become rows under numbers of this store. All but the row of the session itself stand
// where they will; nothing finds them without it.

#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/calls.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/transit.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {
namespace {

std::unexpected<Error> unknown(std::string_view what, std::uint64_t number) {
  return fail(ErrorCode::corrupted,
              fmt::format("a fact refers to {} {}, which did not come before it", what, number));
}

std::unexpected<Error> held_here(const Call& call, const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("the key of call {} is held by call {} here",
                          call_name(call.session, call.position), name),
              name);
}

std::optional<BlobView> view_of(const std::optional<Digest>& key) {
  return key ? std::optional(blob_view(*key)) : std::nullopt;
}

class FactTaker {
 public:
  FactTaker(Connection& db, const std::string& source) : db_(db), source_(source) {}

  Result<void> operator()(const SessionFact& fact) {
    const std::int64_t number = next_number(db_, "sessions");
    db_.run("INSERT INTO transit (owner, side, peer, origin) VALUES (?, 1, ?, ?)", number, source_,
            fact.owner);
    db_.run("INSERT INTO garbage VALUES (?, '')", number);
    return fact.row ? take_row(number, *fact.row) : Result<void>();
  }

  Result<void> operator()(const SegmentFact& fact) {
    const auto owner = owner_of(fact.owner);
    if (!owner) return unknown("session", fact.owner);
    std::optional<Place> parent;
    if (fact.parent) {
      const auto above = segment_of(*fact.parent);
      if (!above) return unknown("segment", *fact.parent);
      parent = Place{*above, fact.parent_position};
    }
    const SegmentId segment = open_segment(db_, *owner, fact.first, parent);
    db_.run("INSERT INTO arrived_segment (peer, origin, num) VALUES (?, ?, ?)", source_,
            fact.segment, segment);
    return {};
  }

  Result<void> operator()(const PrunedFact& fact) {
    const auto segment = segment_of(fact.segment);
    if (!segment) return unknown("segment", fact.segment);
    const Tally& tally = fact.tally;
    db_.run(
        "INSERT INTO pruned (segment, first, upto, entries, turns, steps, tokens_in, tokens_out, "
        "cost_micros) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *segment, fact.first, fact.upto, fact.entries, tally.turns, tally.steps, tally.tokens_in,
        tally.tokens_out, tally.cost_micros);
    return {};
  }

  Result<void> operator()(const Entry& entry) {
    const auto segment = segment_of(entry.segment);
    if (!segment) return unknown("segment", entry.segment);
    const std::int64_t key = entry_key(*segment, entry.position);
    if (entry.condition == Condition::erased) {
      insert(key, entry, std::nullopt);
      return {};
    }
    if (auto there = require_blob(db_, entry.body); !there) return there;
    const std::string_view bytes = entry.body.bytes();
    if (entry.body.codec() == Codec::bytes) {
      insert(key, entry, BlobView{bytes});
    } else {
      insert(key, entry, bytes);
    }
    return {};
  }

  Result<void> operator()(const ReceiptFact& fact) {
    const auto owner = owner_of(fact.owner);
    const auto segment = segment_of(fact.segment);
    if (!owner || !segment) return unknown("segment", fact.segment);
    const Receipt& receipt = fact.receipt;
    db_.run(
        "INSERT INTO receipt (session, batch, number, segment, first, count, head, version, at, "
        "fence, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *owner, receipt.batch.text(), fact.number, *segment, receipt.first, receipt.count,
        receipt.head, receipt.version, receipt.at, fact.fence, blob_view(receipt.chain));
    return {};
  }

  Result<void> operator()(const CheckpointFact& fact) {
    const auto owner = owner_of(fact.owner);
    const auto segment = segment_of(fact.segment);
    if (!owner || !segment) return unknown("segment", fact.segment);
    const Checkpoint& checkpoint = fact.checkpoint;
    const Tally& tally = checkpoint.tally;
    db_.run(
        "INSERT INTO checkpoint (session, version, segment, position, at, reason, label, metadata, "
        "turns, steps, tokens_in, tokens_out, cost_micros) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *owner, checkpoint.version, *segment, checkpoint.position, checkpoint.at, checkpoint.reason,
        checkpoint.label, checkpoint.metadata, tally.turns, tally.steps, tally.tokens_in,
        tally.tokens_out, tally.cost_micros);
    return {};
  }

  Result<void> operator()(const CallFact& fact) {
    const auto owner = owner_of(fact.owner);
    const auto segment = segment_of(fact.segment);
    if (!owner || !segment) return unknown("segment", fact.segment);
    const Call& call = fact.call;
    if (auto free = check_key_free(call); !free) return free;
    db_.run(
        "INSERT INTO call (session, position, args, result, tool, provider_id, effect, key, state, "
        "attempts, failures, fence, segment, intended_at, dispatched_at, deadline, settled_at, "
        "who, why, claimed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *owner, call.position, call.args, call.result, call.tool, call.provider_id,
        to_string(call.effect), view_of(call.key), to_string(call.state), call.attempts,
        call.failures, call.fence, *segment, call.intended_at, call.dispatched_at, call.deadline,
        call.settled_at, call.who, call.why, view_of(call.claimed));
    return {};
  }

  Result<void> operator()(const MessageFact& fact) {
    const auto owner = owner_of(fact.owner);
    if (!owner) return unknown("session", fact.owner);
    const std::string_view bytes = fact.message.body.bytes();
    if (fact.consumed) {
      insert(*owner, fact, std::nullopt);
      return {};
    }
    if (auto there = require_blob(db_, fact.message.body); !there) return there;
    if (fact.message.body.codec() == Codec::bytes) {
      insert(*owner, fact, BlobView{bytes});
    } else {
      insert(*owner, fact, bytes);
    }
    return {};
  }

  // Whoever holds the key here already: it is held.
  Result<void> operator()(const ClaimFact& fact) {
    const Call& call = fact.call;
    if (!call.key && !call.claimed) return unknown("a key of call", call.position);
    if (call.key && find_holder(call)) return {};
    const Digest key = call.key ? *call.key : rules::claim_key(*call.claimed);
    db_.run(
        "INSERT OR IGNORE INTO claim (key, session, position, tool, effect, state, attempts, "
        "failures, fence, intended_at, dispatched_at, settled_at, claimed) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        blob_view(key), call.session.text(), call.position, call.tool, to_string(call.effect),
        to_string(call.state), call.attempts, call.failures, call.fence, call.intended_at,
        call.dispatched_at, call.settled_at, view_of(call.claimed));
    return {};
  }

  Result<void> operator()(const ResourceFact& fact) {
    db_.run(
        "INSERT INTO resource (name, worker, fence, since) VALUES (?1, NULL, ?2, 0) "
        "ON CONFLICT (name) DO UPDATE SET fence = max(fence, ?2)",
        fact.name, fact.fence + rules::fence_jump);
    return {};
  }

 private:
  Result<void> take_row(std::int64_t number, const SessionFact::Row& row) {
    const SessionSummary& session = row.summary;
    if (find_session(db_, session.id) || is_arriving(db_, session.id)) {
      return fail(ErrorCode::already_exists,
                  fmt::format("session {} exists already", session.id.text()), session.id.text());
    }
    std::optional<std::string_view> parent;
    std::optional<Position> parent_position;
    std::optional<std::string_view> lineage;
    if (session.parent) {
      parent = session.parent->session.text();
      parent_position = session.parent->position;
      lineage = session.parent->lineage == Lineage::fork ? "fork" : "child";
    }
    const Tally& tally = session.tally;
    db_.run(
        "INSERT INTO arriving (num, id, created_at, updated_at, status, wait_reason, wake_at, "
        "title, opening, tags, metadata, parent, parent_position, lineage, origin_segment, head, "
        "next, version, commits, revision, chain, turns, steps, tokens_in, tokens_out, "
        "cost_micros, attention, fence, restored) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        number, session.id.text(), session.created_at, session.updated_at,
        to_string(session.status), session.wait_reason, session.wake_at, session.title,
        session.opening, tags_text(session.tags), session.metadata, parent, parent_position,
        lineage, row.segment, session.head, session.next, session.version, row.commits,
        session.revision, blob_view(row.chain), tally.turns, tally.steps, tally.tokens_in,
        tally.tokens_out, tally.cost_micros, session.attention, row.fence,
        session.restored ? 1 : 0);
    return {};
  }

  template <class BodyValue>
  void insert(std::int64_t key, const Entry& entry, BodyValue body) {
    const Tally& tally = entry.tally;
    db_.run(
        "INSERT INTO entry (id, channel, kind, fold, codec, at, turns, steps, tokens_in, "
        "tokens_out, cost_micros, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        key, entry.channel, entry.kind, static_cast<int>(entry.fold), rules::codec_column(entry),
        entry.at, unless_zero(tally.turns), unless_zero(tally.steps), unless_zero(tally.tokens_in),
        unless_zero(tally.tokens_out), unless_zero(tally.cost_micros), blob_view(entry.hash), body);
  }

  template <class BodyValue>
  void insert(std::int64_t owner, const MessageFact& fact, BodyValue body) {
    const InboxMessage& message = fact.message;
    db_.run(
        "INSERT INTO message (session, id, kind, codec, at, consumed, body) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        owner, message.id.text(), message.kind, static_cast<int>(message.body.codec()), message.at,
        fact.consumed ? 1 : 0, body);
  }

  std::optional<Call> find_holder(const Call& call) {
    if (Rows rows = db_.query(sql(select_call, where_holds_key), blob_view(*call.key));
        rows.next()) {
      return read_call(rows);
    }
    if (Rows claims = db_.query(select_claim, blob_view(*call.key)); claims.next()) {
      return read_call(claims);
    }
    return std::nullopt;
  }

  // What the call itself left when its session was here before, and went, is its own.
  Result<void> check_key_free(const Call& call) {
    if (!call.key || !rules::holds_key(call.state)) return {};
    const auto holder = find_holder(call);
    if (!holder || (holder->session == call.session && holder->position == call.position)) {
      return {};
    }
    return held_here(call, *holder);
  }

  std::optional<std::int64_t> owner_of(OwnerNumber origin) {
    Rows rows = db_.query("SELECT owner FROM transit WHERE side = 1 AND peer = ? AND origin = ?",
                          source_, origin);
    if (!rows.next()) return std::nullopt;
    return rows.integer(0);
  }

  // Nearly always the same as for the fact before.
  std::optional<SegmentId> segment_of(SegmentId origin) {
    if (last_ && last_->first == origin) return last_->second;
    Rows rows =
        db_.query("SELECT num FROM arrived_segment WHERE peer = ? AND origin = ?", source_, origin);
    if (!rows.next()) return std::nullopt;
    last_ = {origin, rows.number(0)};
    return last_->second;
  }

  Connection& db_;
  const std::string& source_;
  std::optional<std::pair<SegmentId, SegmentId>> last_;
};

}  // namespace

Result<void> take_facts(Connection& db, const std::string& source, const std::vector<Fact>& facts) {
  FactTaker take(db, source);
  for (const Fact& fact : facts) {
    if (auto taken = std::visit(take, fact); !taken) return taken;
  }
  return {};
}

void land(Connection& db, const std::string& source) {
  db.run(
      "DELETE FROM claim WHERE key IN (SELECT c.key FROM call c JOIN transit t ON t.owner = "
      "c.session WHERE t.side = 1 AND t.peer = ? AND c.key IS NOT NULL AND c.state IN "
      "('dispatched', 'in_doubt', 'succeeded', 'abandoned'))",
      source);
  db.run(
      "INSERT INTO session (num, id, created_at, updated_at, status, wait_reason, wake_at, title, "
      "opening, tags, metadata, parent, parent_position, lineage, segment, head, next, version, "
      "commits, revision, chain, turns, steps, tokens_in, tokens_out, cost_micros, attention, "
      "fence, restored) SELECT s.num, s.id, s.created_at, s.updated_at, s.status, s.wait_reason, "
      "s.wake_at, s.title, s.opening, s.tags, s.metadata, s.parent, s.parent_position, s.lineage, "
      "a.num, s.head, s.next, s.version, s.commits, s.revision, s.chain, s.turns, s.steps, "
      "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.fence + ?, s.restored FROM transit "
      "t JOIN arriving s ON s.num = t.owner JOIN arrived_segment a ON a.peer = t.peer AND a.origin "
      "= s.origin_segment WHERE t.side = 1 AND t.peer = ? ORDER BY s.num",
      rules::fence_jump, source);
  for (const std::string_view statement :
       {"DELETE FROM arriving WHERE num IN (SELECT owner FROM transit WHERE side = 1 AND peer = ?)",
        "DELETE FROM garbage WHERE session IN (SELECT owner FROM transit WHERE side = 1 AND peer = "
        "?)",
        "DELETE FROM arrived_segment WHERE peer = ?"}) {
    db.run(statement, source);
  }
}

}  // namespace perdure::sqlite
