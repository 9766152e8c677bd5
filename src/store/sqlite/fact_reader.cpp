// Facts in the order of FactKind. The row of a session that arrives is in another table. Sessions are gone through one by one, so that each
// statement finds its rows by their key.

#include <algorithm>  // NOLINT(misc-include-cleaner): std::ranges::lower_bound.
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "rules/fact_slices.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/transit.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {
namespace {

// As select_call's, but for the session's id.
constexpr std::string_view call_columns =
    ", position, args, result, tool, provider_id, effect, key, state, attempts, failures, fence, "
    "intended_at, dispatched_at, deadline, settled_at, who, why, claimed, segment FROM call ";

constexpr std::string_view message_columns = "SELECT num, id, kind, codec, at, body FROM message ";

class FactReader {
 public:
  FactReader(Connection& db, const Workers& workers, const FactSource& source)
      : db_(db),
        workers_(workers),
        source_(source),
        is_arriving_(!source.arrival.from.empty()),
        who_(is_arriving_ ? "(SELECT owner, peer FROM transit WHERE side = 1 AND peer = ?)"
                          : "(SELECT value AS owner FROM json_each(?))"),
        key_(is_arriving_ ? source.arrival.from
                          : fmt::format("[{}]", fmt::join(source.owners, ","))) {}

  void read_entries(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_entries_of(slice, owner, after.number);
    });
  }
  void read_receipts(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_receipts_of(slice, owner, after.number);
    });
  }
  void read_checkpoints(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_checkpoints_of(slice, owner, after.number);
    });
  }
  void read_calls(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_calls_of(slice, owner, after.number);
    });
  }
  void read_waiting(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_waiting_of(slice, owner, after.number);
    });
  }
  void read_consumed(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      read_consumed_of(slice, owner, after.name);
    });
  }

  // The owner that the cursor names is not done; those after it are read from their beginning.
  template <class Read>
  void read_owners(rules::SliceMaker& slice, const Read& read) {
    const FactCursor at = slice.at();
    auto owner = next_owner(at.group);
    if (owner && *owner == at.group) {
      read(*owner, at);
      owner = next_owner(*owner + 1);
    }
    for (; owner && !slice.is_full(); owner = next_owner(*owner + 1)) read(*owner, FactCursor{});
  }

  std::optional<OwnerNumber> next_owner(OwnerNumber from) {
    if (!is_arriving_) {
      const auto found = std::ranges::lower_bound(source_.owners, from);
      return found == source_.owners.end() ? std::nullopt : std::optional(*found);
    }
    Rows rows = db_.query(
        "SELECT owner FROM transit WHERE side = 1 AND peer = ? AND owner >= ? ORDER BY owner LIMIT "
        "1",
        key_, from);
    if (!rows.next()) return std::nullopt;
    return rows.number(0);
  }

  void read_sessions(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format("{}, t.owner, {}, commits, chain, fence FROM {} t LEFT JOIN {} s ON s.num = "
                    "t.owner WHERE t.owner > ? ORDER BY t.owner LIMIT ?",
                    is_arriving_ ? arriving_columns() : std::string(select_session_columns),
                    is_arriving_ ? "(SELECT num FROM arrived_segment a WHERE a.peer = t.peer AND "
                                   "a.origin = s.origin_segment)"
                                 : "s.segment",
                    who_, is_arriving_ ? "arriving" : "session"),
        key_, slice.at().group, slice.room());
    while (rows.next()) {
      SessionFact fact{.owner = rows.number(33), .row = {}};
      if (!rows.is_null(0)) {
        fact.row = {.summary = read_session(rows, workers_),
                    .segment = rows.number(34),
                    .commits = rows.number(35),
                    .chain = rows.digest(36),
                    .fence = rows.number(37)};
        fact.row->summary.moved_to.clear();
      }
      const OwnerNumber owner = fact.owner;
      slice.add(owner, 0, std::move(fact));
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

  void read_segments(rules::SliceMaker& slice) {
    Rows rows =
        db_.query(sql(select_segment, fmt::format("WHERE num > ? AND session IN (SELECT owner FROM "
                                                  "{}) ORDER BY num LIMIT ?",
                                                  who_)),
                  slice.at().number, key_, slice.room());
    while (rows.next()) {
      const Part part = read_segment(rows);
      slice.add(0, part.segment,
                SegmentFact{.segment = part.segment,
                            .owner = static_cast<OwnerNumber>(part.session),
                            .first = part.first,
                            .parent = part.parent,
                            .parent_position = part.parent_position});
    }
  }

  void read_pruned(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format(
            "SELECT segment, first, upto, entries, turns, steps, tokens_in, tokens_out, "
            "cost_micros FROM pruned WHERE (segment, first) > (?, ?) AND segment IN (SELECT "
            "g.num FROM segment g JOIN {} t ON t.owner = g.session) ORDER BY segment, "
            "first LIMIT ?",
            who_),
        slice.at().group, slice.at().number, key_, slice.room());
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1),
                PrunedFact{.segment = rows.number(0),
                           .first = rows.number(1),
                           .upto = rows.number(2),
                           .entries = rows.number(3),
                           .tally = read_tally(rows, 4)});
    }
  }

  // Positions rise along an owner's segments, and no two of these have the same.
  void read_entries_of(rules::SliceMaker& slice, OwnerNumber owner, Position after) {
    SegmentId segment = 0;
    while (!slice.is_full()) {
      {
        Rows rows =
            db_.query("SELECT num FROM segment WHERE session = ? AND num > ? ORDER BY num LIMIT 1",
                      owner, segment);
        if (!rows.next()) return;
        segment = rows.number(0);
      }
      Rows rows =
          db_.query(sql(select_entry, "WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"),
                    entry_key(segment, after), entry_key(segment, position_max), slice.room());
      while (!slice.is_full() && rows.next()) {
        Entry entry = read_entry(rows);
        const Position position = entry.position;
        slice.add(owner, position, std::move(entry));
      }
    }
  }

  void read_receipts_of(rules::SliceMaker& slice, OwnerNumber owner, std::uint64_t after) {
    Rows rows = db_.query(
        "SELECT batch, first, count, head, version, at, chain, number, segment, fence FROM receipt "
        "WHERE session = ? AND number > ? ORDER BY number LIMIT ?",
        owner, after, slice.room());
    while (rows.next()) {
      slice.add(owner, rows.number(7),
                ReceiptFact{.owner = owner,
                            .number = rows.number(7),
                            .segment = rows.number(8),
                            .fence = rows.number(9),
                            .receipt = read_receipt(rows)});
    }
  }

  void read_checkpoints_of(rules::SliceMaker& slice, OwnerNumber owner, Version after) {
    Rows rows = db_.query(
        "SELECT version, position, at, reason, label, metadata, turns, steps, tokens_in, "
        "tokens_out, cost_micros, segment FROM checkpoint WHERE session = ? AND version > ? "
        "ORDER BY version LIMIT ?",
        owner, after, slice.room());
    while (rows.next()) {
      slice.add(
          owner, rows.number(0),
          CheckpointFact{
              .owner = owner, .segment = rows.number(11), .checkpoint = read_checkpoint(rows)});
    }
  }

  void read_calls_of(rules::SliceMaker& slice, OwnerNumber owner, Position after) {
    Rows rows = db_.query(fmt::format("SELECT ?{} WHERE session = ? AND position > ? ORDER BY "
                                      "position LIMIT ?",
                                      call_columns),
                          id_of(owner).text(), owner, after, slice.room());
    while (rows.next()) {
      slice.add(owner, rows.number(1),
                CallFact{.owner = owner, .segment = rows.number(19), .call = read_call(rows)});
    }
  }

  void read_waiting_of(rules::SliceMaker& slice, OwnerNumber owner, std::uint64_t after) {
    const SessionId id = id_of(owner);
    Rows rows = db_.query(
        sql(message_columns, "WHERE session = ? AND consumed = 0 AND num > ? ORDER BY num LIMIT ?"),
        owner, after, slice.room());
    while (!slice.is_full() && rows.next()) {
      slice.add(owner, rows.number(0), message_of(rows, owner, id, false));
    }
  }

  void read_consumed_of(rules::SliceMaker& slice, OwnerNumber owner, const std::string& after) {
    const SessionId id = id_of(owner);
    Rows rows = db_.query(
        sql(message_columns, "WHERE session = ? AND id > ? AND consumed = 1 ORDER BY id LIMIT ?"),
        owner, after, slice.room());
    while (rows.next()) {
      slice.add(owner, rows.string(1), message_of(rows, owner, id, true));
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

  void read_claims(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    const auto after = digest_from_hex(slice.at().name);
    Rows rows = db_.query(
        "SELECT session, position, 0, NULL, tool, '', effect, key, state, attempts, failures, "
        "fence, intended_at, dispatched_at, NULL, settled_at, '', '', claimed FROM claim WHERE key "
        "> ? "
        "ORDER BY key LIMIT ?",
        after ? blob_view(*after) : BlobView{}, slice.room());
    while (rows.next()) {
      slice.add(0, to_hex(rows.digest(7)), ClaimFact{.call = read_call(rows)});
    }
  }

  void read_resources(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    Rows rows = db_.query("SELECT name, fence FROM resource WHERE name > ? ORDER BY name LIMIT ?",
                          slice.at().name, slice.room());
    while (rows.next()) {
      slice.add(0, rows.string(0), ResourceFact{.name = rows.string(0), .fence = rows.number(1)});
    }
  }

 private:
  SessionId id_of(OwnerNumber owner) {
    Rows rows = db_.query(
        "SELECT id FROM session WHERE num = ?1 UNION ALL SELECT id FROM arriving "
        "WHERE num = ?1",
        owner);
    return rows.next() ? stored_id<SessionId>(rows.text(0)) : SessionId();
  }

  Connection& db_;
  const Workers& workers_;
  const FactSource& source_;
  const bool is_arriving_;
  const std::string who_;  ///< The owners, as a table with one parameter:
  const std::string key_;
};

}  // namespace

FactSlice read_facts(Connection& db, const Workers& workers, const FactSource& source,
                     const FactCursor& from) {
  return rules::read_slice(rules::SliceMaker(from), FactReader(db, workers, source));
}

}  // namespace perdure::sqlite
