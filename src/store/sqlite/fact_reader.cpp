// Facts of a move, in the order of FactKind, the same on both sides: only the row of a session
// stands in another table while it arrives. Sessions are gone through one by one, so that each
// statement finds its rows by their key.

#include <algorithm>  // NOLINT(misc-include-cleaner): std::ranges::lower_bound.
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/transfer.hpp"
#include "rules/fact_slices.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/transit.hpp"

namespace perdure::sqlite {
namespace {

// As select_call's, but for the session's id.
constexpr std::string_view call_columns =
    ", position, args, result, tool, provider_id, effect, key, state, attempts, failures, fence, "
    "intended_at, dispatched_at, deadline, settled_at, who, why, claimed, segment FROM call ";

constexpr std::string_view message_columns = "SELECT num, id, kind, codec, at, body FROM message ";

class FactReader {
 public:
  FactReader(Connection& db, const Workers& workers, const Passage& passage, const FactCursor& from)
      : db_(db),
        workers_(workers),
        passage_(passage),
        is_staying_(passage.side == Side::staying),
        who_(is_staying_ ? "(SELECT value AS owner FROM json_each(?))"
                         : fmt::format("(SELECT owner, peer FROM transit WHERE side = {} AND peer "
                                       "= ?)",
                                       number_of(passage.side))),
        key_(is_staying_ ? json_list(passage.owners) : passage.peer),
        slice_(from) {}

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
      case FactKind::claim:
        if (passage_.side != Side::arriving) read_claims();
        return;
      case FactKind::resource:
        if (passage_.side != Side::arriving) read_resources();
        return;
      case FactKind::none:
        return;
      default:
        return read_owners();
    }
  }

  // The owner that the cursor names is not done; those after it are read from their beginning.
  void read_owners() {
    auto owner = next_owner(slice_.at().group);
    if (owner && *owner == slice_.at().group) {
      read_of(*owner, slice_.at().number, slice_.at().name);
      owner = next_owner(*owner + 1);
    }
    for (; owner && !slice_.is_full(); owner = next_owner(*owner + 1)) read_of(*owner, 0, {});
  }

  std::optional<OwnerNumber> next_owner(OwnerNumber from) {
    if (is_staying_) {
      const auto found = std::ranges::lower_bound(passage_.owners, from);
      return found == passage_.owners.end() ? std::nullopt : std::optional(*found);
    }
    Rows rows = db_.query(
        "SELECT owner FROM transit WHERE side = ? AND peer = ? AND owner >= ? ORDER BY owner LIMIT "
        "1",
        number_of(passage_.side), passage_.peer, from);
    if (!rows.next()) return std::nullopt;
    return rows.number(0);
  }

  void read_of(OwnerNumber owner, std::uint64_t after, const std::string& name) {
    switch (slice_.at().kind) {
      case FactKind::entry:
        return read_entries(owner, after);
      case FactKind::receipt:
        return read_receipts(owner, after);
      case FactKind::checkpoint:
        return read_checkpoints(owner, after);
      case FactKind::call:
        return read_calls(owner, after);
      case FactKind::waiting:
        return read_waiting(owner, after);
      default:
        return read_consumed(owner, name);
    }
  }

  void add(OwnerNumber group, std::uint64_t number, Fact fact) {
    const FactKind kind = slice_.at().kind;
    slice_.add(std::move(fact), {.kind = kind, .group = group, .number = number, .name = {}});
  }

  void read_sessions() {
    const bool arrives = passage_.side == Side::arriving;
    Rows rows = db_.query(
        fmt::format("{}, t.owner, {}, commits, chain, fence FROM {} t LEFT JOIN {} s ON s.num = "
                    "t.owner WHERE t.owner > ? ORDER BY t.owner LIMIT ?",
                    arrives ? arriving_columns() : std::string(select_session_columns),
                    arrives ? "(SELECT num FROM arrived_segment a WHERE a.peer = t.peer AND "
                              "a.origin = s.origin_segment)"
                            : "s.segment",
                    who_, arrives ? "arriving" : "session"),
        key_, slice_.at().group, slice_.room());
    while (rows.next()) {
      SessionFact fact{.owner = rows.number(33), .row = {}};
      if (!rows.is_null(0)) {
        fact.row = {.summary = read_session(rows, workers_),
                    .segment = rows.number(34),
                    .commits = rows.number(35),
                    .chain = rows.digest(36),
                    .fence = rows.number(37)};
        rules::show({}, fact.row->summary);
      }
      const OwnerNumber owner = fact.owner;
      add(owner, 0, std::move(fact));
    }
  }

  // The same columns: what arrives has no owner, and is not moved.
  static std::string arriving_columns() {
    std::string columns(select_session_columns);
    for (const std::string_view missing : {"owned_since", "moved"}) {
      columns.replace(columns.find(missing), missing.size(), "NULL");
    }
    return columns;
  }

  void read_segments() {
    Rows rows =
        db_.query(sql(select_segment, fmt::format("WHERE num > ? AND session IN (SELECT owner FROM "
                                                  "{}) ORDER BY num LIMIT ?",
                                                  who_)),
                  slice_.at().number, key_, slice_.room());
    while (rows.next()) {
      const Part part = read_segment(rows);
      add(0, part.segment,
          SegmentFact{.segment = part.segment,
                      .owner = static_cast<OwnerNumber>(part.session),
                      .first = part.first,
                      .parent = part.parent,
                      .parent_position = part.parent_position});
    }
  }

  void read_pruned() {
    Rows rows = db_.query(
        fmt::format(
            "SELECT segment, first, upto, entries, turns, steps, tokens_in, tokens_out, "
            "cost_micros FROM pruned WHERE (segment, first) > (?, ?) AND segment IN (SELECT "
            "g.num FROM segment g JOIN {} t ON t.owner = g.session) ORDER BY segment, "
            "first LIMIT ?",
            who_),
        slice_.at().group, slice_.at().number, key_, slice_.room());
    while (rows.next()) {
      add(rows.number(0), rows.number(1),
          PrunedFact{.segment = rows.number(0),
                     .first = rows.number(1),
                     .upto = rows.number(2),
                     .entries = rows.number(3),
                     .tally = read_tally(rows, 4)});
    }
  }

  // Positions rise along an owner's segments, and no two of these have the same.
  void read_entries(OwnerNumber owner, Position after) {
    SegmentId segment = 0;
    while (!slice_.is_full()) {
      {
        Rows rows =
            db_.query("SELECT num FROM segment WHERE session = ? AND num > ? ORDER BY num LIMIT 1",
                      owner, segment);
        if (!rows.next()) return;
        segment = rows.number(0);
      }
      Rows rows =
          db_.query(sql(select_entry, "WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"),
                    entry_key(segment, after), entry_key(segment, position_max), slice_.room());
      while (!slice_.is_full() && rows.next()) {
        Entry entry = read_entry(rows);
        const Position position = entry.position;
        add(owner, position, std::move(entry));
      }
    }
  }

  void read_receipts(OwnerNumber owner, std::uint64_t after) {
    Rows rows = db_.query(
        "SELECT batch, first, count, head, version, at, chain, number, segment, fence FROM receipt "
        "WHERE session = ? AND number > ? ORDER BY number LIMIT ?",
        owner, after, slice_.room());
    while (rows.next()) {
      add(owner, rows.number(7),
          ReceiptFact{.owner = owner,
                      .number = rows.number(7),
                      .segment = rows.number(8),
                      .fence = rows.number(9),
                      .receipt = read_receipt(rows)});
    }
  }

  void read_checkpoints(OwnerNumber owner, Version after) {
    Rows rows = db_.query(
        "SELECT version, position, at, reason, label, metadata, turns, steps, tokens_in, "
        "tokens_out, cost_micros, segment FROM checkpoint WHERE session = ? AND version > ? "
        "ORDER BY version LIMIT ?",
        owner, after, slice_.room());
    while (rows.next()) {
      add(owner, rows.number(0),
          CheckpointFact{
              .owner = owner, .segment = rows.number(11), .checkpoint = read_checkpoint(rows)});
    }
  }

  void read_calls(OwnerNumber owner, Position after) {
    Rows rows = db_.query(fmt::format("SELECT ?{} WHERE session = ? AND position > ? ORDER BY "
                                      "position LIMIT ?",
                                      call_columns),
                          id_of(owner).text(), owner, after, slice_.room());
    while (rows.next()) {
      add(owner, rows.number(1),
          CallFact{.owner = owner, .segment = rows.number(19), .call = read_call(rows)});
    }
  }

  void read_waiting(OwnerNumber owner, std::uint64_t after) {
    const SessionId id = id_of(owner);
    Rows rows = db_.query(
        sql(message_columns, "WHERE session = ? AND consumed = 0 AND num > ? ORDER BY num LIMIT ?"),
        owner, after, slice_.room());
    while (!slice_.is_full() && rows.next()) {
      add(owner, rows.number(0), message_of(rows, owner, id, false));
    }
  }

  void read_consumed(OwnerNumber owner, const std::string& after) {
    const SessionId id = id_of(owner);
    Rows rows = db_.query(
        sql(message_columns, "WHERE session = ? AND id > ? AND consumed = 1 ORDER BY id LIMIT ?"),
        owner, after, slice_.room());
    while (rows.next()) {
      slice_.add(message_of(rows, owner, id, true),
                 {.kind = FactKind::consumed, .group = owner, .number = 0, .name = rows.string(1)});
    }
  }

  static MessageFact message_of(const Rows& rows, OwnerNumber owner, const SessionId& session,
                                bool consumed) {
    return {
        .owner = owner,
        .consumed = consumed,
        .message = {.session = session,
                    .id = stored_id<MessageId>(rows.text(1)),
                    .kind = rows.string(2),
                    .body = Body::from_stored(static_cast<Codec>(rows.integer(3)), rows.string(5)),
                    .at = rows.time(4)}};
  }

  void read_claims() {
    const auto after = digest_from_hex(slice_.at().name);
    Rows rows = db_.query(
        "SELECT session, position, 0, NULL, tool, '', effect, key, state, attempts, failures, "
        "fence, intended_at, dispatched_at, NULL, settled_at, '', '', claimed FROM claim WHERE key "
        "> ? "
        "ORDER BY key LIMIT ?",
        after ? blob_view(*after) : BlobView{}, slice_.room());
    while (rows.next()) {
      slice_.add(
          ClaimFact{.call = read_call(rows)},
          {.kind = FactKind::claim, .group = 0, .number = 0, .name = to_hex(rows.digest(7))});
    }
  }

  void read_resources() {
    Rows rows = db_.query("SELECT name, fence FROM resource WHERE name > ? ORDER BY name LIMIT ?",
                          slice_.at().name, slice_.room());
    while (rows.next()) {
      slice_.add(ResourceFact{.name = rows.string(0), .fence = rows.number(1)},
                 {.kind = FactKind::resource, .group = 0, .number = 0, .name = rows.string(0)});
    }
  }

  SessionId id_of(OwnerNumber owner) {
    Rows rows = db_.query(
        "SELECT id FROM session WHERE num = ?1 UNION ALL SELECT id FROM arriving "
        "WHERE num = ?1",
        owner);
    return rows.next() ? stored_id<SessionId>(rows.text(0)) : SessionId();
  }

  Connection& db_;
  const Workers& workers_;
  const Passage& passage_;
  const bool is_staying_;
  const std::string who_;  ///< The owners, as a table with one parameter:
  const std::string key_;
  rules::SliceMaker slice_;
};

}  // namespace

FactSlice read_facts(Connection& db, const Workers& workers, const Passage& passage,
                     const FactCursor& from) {
  return FactReader(db, workers, passage, from).read();
}

}  // namespace perdure::sqlite
