// Facts in the order of FactKind. The row of a session that arrives is in another table. One statement goes through many sessions, one after the
// other by their keys, and stops where the slice is full.

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/values.hpp"
#include "postgres/transit.hpp"
#include "rules/fact_slices.hpp"
#include "rules/stored_rows.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {
namespace {

/// The owners: $1 the place that an arrival comes from, or the owners themselves; $2 is 1.
constexpr std::string_view those_that_arrive =
    "(SELECT owner, peer FROM perdure.transit WHERE peer = $1 AND side = $2)";
constexpr std::string_view those_named =
    "(SELECT x.owner FROM unnest($1::bigint[]) x(owner) WHERE $2 > 0)";

/// $1 and $2 as for `who`, $3 the owner that is not done, $4 what of it was read, $5 how many.
/// `select` knows the owner as t.owner and what to begin behind as t.after, and names its key.
struct OfOwners {
  std::string_view who;

  std::string operator()(std::string_view select, std::string_view key,
                         std::string_view none) const {
    return fmt::format(
        "SELECT t.owner, x.* FROM (SELECT owner, CASE WHEN owner = $3 THEN $4 ELSE {2} END AS "
        "after FROM {3} w WHERE owner >= $3 ORDER BY owner) t CROSS JOIN LATERAL ({0} ORDER BY {1} "
        "LIMIT $5) x ORDER BY t.owner, x.{1} LIMIT $5",
        select, key, none, who);
  }
};

/// The rows of `slice` (owner, key, size) whose bodies fit, joined with their table.
std::string as_far_as_bodies_fit(std::string_view columns, std::string_view table,
                                 std::string_view key, const std::string& slice) {
  return fmt::format(
      "WITH slice AS ({3}), cut AS (SELECT s.owner, s.{2}, sum(s.size) OVER (ORDER BY s.owner, "
      "s.{2}) - s.size AS before FROM slice s) SELECT c.owner, {0} FROM cut c JOIN perdure.{1} e "
      "ON e.session = c.owner AND e.{2} = c.{2} WHERE c.before < {4} ORDER BY c.owner, c.{2}",
      columns, table, key, slice, rules::slice_bytes_max);
}

std::int64_t room_in(const rules::SliceMaker& slice) {
  return static_cast<std::int64_t>(slice.room());
}

class FactReader {
 public:
  FactReader(Connection& db, const FactSource& source)
      : db_(db),
        source_(source),
        is_arriving_(!source.arrival.from.empty()),
        of_owners_{is_arriving_ ? those_that_arrive : those_named} {}

  void read_sessions(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format(
            "SELECT s.id, s.title, s.opening, s.tags, s.metadata, s.status, s.wait_reason, "
            "s.wake_at, s.parent, s.parent_position, s.lineage, s.head, s.next, s.version, "
            "s.turns, "
            "s.steps, s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.revision, "
            "s.created_at, s.updated_at, s.restored, t.owner, {}, s.commits, s.chain, s.fence "
            "FROM {} t LEFT JOIN perdure.{} s ON s.num = t.owner WHERE t.owner > $3 ORDER BY "
            "t.owner LIMIT $4",
            is_arriving_ ? "(SELECT a.num FROM perdure.arrived_segment a WHERE a.peer = t.peer AND "
                           "a.origin = s.segment)"
                         : "s.segment",
            of_owners_.who, is_arriving_ ? "arriving" : "session"),
        owners().add(slice.at().group).add(room_in(slice)));
    while (rows.next()) {
      SessionFact fact{.owner = rows.number(24), .row = {}};
      if (!rows.is_null(0)) {
        fact.row = {.summary = rules::read_summary(rows),
                    .segment = rows.number(25),
                    .commits = rows.number(26),
                    .chain = rows.digest(27),
                    .fence = rows.number(28)};
        fact.row->summary.restored = rows.boolean(23);
      }
      const OwnerNumber owner = fact.owner;
      slice.add(owner, 0, std::move(fact));
    }
  }

  void read_segments(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format("SELECT g.num, g.session, g.first, g.parent, g.parent_position FROM "
                    "perdure.segment g WHERE g.num > $3 AND g.session IN (SELECT t.owner FROM {} "
                    "t) ORDER BY g.num LIMIT $4",
                    of_owners_.who),
        owners().add(slice.at().number).add(room_in(slice)));
    while (rows.next()) {
      slice.add(0, rows.number(0),
                SegmentFact{.segment = rows.number(0),
                            .owner = rows.number(1),
                            .first = rows.number(2),
                            .parent = rules::optional_position(rows, 3),
                            .parent_position = rows.number(4)});
    }
  }

  void read_pruned(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format("SELECT p.segment, p.first, p.upto, p.entries, p.turns, p.steps, p.tokens_in, "
                    "p.tokens_out, p.cost_micros FROM perdure.pruned p WHERE (p.segment, p.first) "
                    "> ($3, $4) AND p.segment IN (SELECT g.num FROM perdure.segment g JOIN {} t ON "
                    "t.owner = g.session) ORDER BY p.segment, p.first LIMIT $5",
                    of_owners_.who),
        owners().add(slice.at().group).add(slice.at().number).add(room_in(slice)));
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1),
                PrunedFact{.segment = rows.number(0),
                           .first = rows.number(1),
                           .upto = rows.number(2),
                           .entries = rows.number(3),
                           .tally = rules::read_tally(rows, 4)});
    }
  }

  void read_entries(rules::SliceMaker& slice) {
    const std::string statement = as_far_as_bodies_fit(
        entry_columns, "entry", "position",
        of_owners_("SELECT y.position, coalesce(octet_length(y.body), octet_length(y.bytes), 0) AS "
                   "size FROM perdure.entry y WHERE y.session = t.owner AND y.position > t.after",
                   "position", "0"));
    Rows rows = by_number(slice, statement);
    while (rows.next()) {
      Entry entry = read_entry(rows, 1);
      const Position position = entry.position;
      slice.add(rows.number(0), position, std::move(entry));
    }
  }

  void read_receipts(rules::SliceMaker& slice) {
    Rows rows = by_number(
        slice,
        of_owners_(
            "SELECT r.batch, r.first, r.count, r.head, r.version, r.at, r.chain, r.number, "
            "r.segment, "
            "r.fence FROM perdure.receipt r WHERE r.session = t.owner AND r.number > t.after",
            "number", "0"));
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(8),
                ReceiptFact{.owner = rows.number(0),
                            .number = rows.number(8),
                            .segment = rows.number(9),
                            .fence = rows.number(10),
                            .receipt = rules::read_receipt(Behind(rows))});
    }
  }

  void read_checkpoints(rules::SliceMaker& slice) {
    Rows rows = by_number(
        slice,
        of_owners_(
            "SELECT k.version, k.position, k.at, k.reason, k.label, k.metadata, k.turns, k.steps, "
            "k.tokens_in, k.tokens_out, k.cost_micros, k.segment FROM perdure.checkpoint k WHERE "
            "k.session = t.owner AND k.version > t.after",
            "version", "0"));
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1),
                CheckpointFact{.owner = rows.number(0),
                               .segment = rows.number(12),
                               .checkpoint = rules::read_checkpoint(Behind(rows))});
    }
  }

  void read_calls(rules::SliceMaker& slice) {
    Rows rows = by_number(
        slice,
        of_owners_(
            fmt::format(
                "SELECT (SELECT s.id FROM perdure.{} s WHERE s.num = t.owner) AS id, "
                "c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state, "
                "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, "
                "c.settled_at, c.who, c.why, c.claimed, c.segment FROM perdure.call c WHERE "
                "c.session "
                "= "
                "t.owner AND c.position > t.after",
                row_table()),
            "position", "0"));
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(2),
                CallFact{.owner = rows.number(0),
                         .segment = rows.number(20),
                         .call = rules::read_call(Behind(rows))});
    }
  }

  void read_waiting(rules::SliceMaker& slice) {
    const std::string statement = fmt::format(
        "WITH slice AS ({}), cut AS (SELECT s.*, sum(s.size) OVER (ORDER BY s.owner, s.num) - "
        "s.size AS before FROM slice s) SELECT c.owner, e.num, (SELECT r.id FROM perdure.{} r "
        "WHERE "
        "r.num = c.owner), e.id, e.kind, e.codec, e.at, e.body, e.bytes FROM cut c JOIN "
        "perdure.message e ON e.session = c.owner AND e.id = c.id WHERE c.before < {} ORDER BY "
        "c.owner, c.num",
        of_owners_(
            "SELECT y.num, y.id, coalesce(octet_length(y.body), octet_length(y.bytes), 0) AS "
            "size FROM perdure.message y WHERE y.session = t.owner AND y.num > t.after AND "
            "NOT y.consumed",
            "num", "0"),
        row_table(), rules::slice_bytes_max);
    Rows rows = by_number(slice, statement);
    while (rows.next()) slice.add(rows.number(0), rows.number(1), message_of(rows, false));
  }

  void read_consumed(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        of_owners_(
            fmt::format("SELECT 0::bigint AS num, (SELECT r.id FROM perdure.{} r WHERE r.num "
                        "= t.owner) AS name, y.id, y.kind, y.codec, y.at, NULL::text AS body, "
                        "NULL::bytea AS bytes FROM perdure.message y WHERE y.session = "
                        "t.owner AND y.id > t.after AND y.consumed",
                        row_table()),
            "id", "''"),
        owners().add(slice.at().group).add(slice.at().name).add(room_in(slice)));
    while (rows.next()) slice.add(rows.number(0), rows.string(3), message_of(rows, true));
  }

  static MessageFact message_of(const Rows& rows, bool consumed) {
    return {.owner = rows.number(0),
            .consumed = consumed,
            .message = {.session = rules::stored_id<SessionId>(rows.text(2)),
                        .id = rules::stored_id<MessageId>(rows.text(3)),
                        .kind = rows.string(4),
                        .body = read_body(rows, 5, 7, 8),
                        .at = rows.time(6)}};
  }

  void read_claims(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    const auto after = digest_from_hex(slice.at().name);
    Rows rows = db_.query(
        "SELECT session, position, 0::bigint, NULL::bigint, tool, ''::bytea, effect, key, state, "
        "attempts, failures, fence, intended_at, dispatched_at, NULL::bigint, settled_at, '', '', "
        "claimed FROM perdure.claim WHERE key > $1 AND session IS NOT NULL AND holder NOT IN "
        "(SELECT owner "
        "FROM perdure.transit WHERE side = 1) ORDER BY key LIMIT $2",
        Params::of(after ? bytes_view(*after) : BytesView{}, room_in(slice)));
    while (rows.next()) {
      slice.add(0, to_hex(rows.digest(7)), ClaimFact{.call = rules::read_call(rows)});
    }
  }

  void read_resources(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    Rows rows =
        db_.query("SELECT name, fence FROM perdure.resource WHERE name > $1 ORDER BY name LIMIT $2",
                  Params::of(slice.at().name, room_in(slice)));
    while (rows.next()) {
      slice.add(0, rows.string(0), ResourceFact{.name = rows.string(0), .fence = rows.number(1)});
    }
  }

 private:
  /// The first two parameters of every statement about owners.
  [[nodiscard]] Params owners() const {
    return is_arriving_ ? Params::of(source_.arrival.from, 1) : Params::of(source_.owners, 1);
  }

  Rows by_number(const rules::SliceMaker& slice, const std::string& statement) {
    return db_.query(statement,
                     owners().add(slice.at().group).add(slice.at().number).add(room_in(slice)));
  }

  [[nodiscard]] std::string_view row_table() const { return is_arriving_ ? "arriving" : "session"; }

  /// The same rows without their first column, the owner.
  class Behind {
   public:
    explicit Behind(const Rows& rows) : rows_(rows) {}
    [[nodiscard]] auto integer(int column) const { return rows_.integer(column + 1); }
    [[nodiscard]] auto number(int column) const { return rows_.number(column + 1); }
    [[nodiscard]] auto text(int column) const { return rows_.text(column + 1); }
    [[nodiscard]] auto string(int column) const { return rows_.string(column + 1); }
    [[nodiscard]] auto is_null(int column) const { return rows_.is_null(column + 1); }
    [[nodiscard]] auto digest(int column) const { return rows_.digest(column + 1); }
    [[nodiscard]] auto time(int column) const { return rows_.time(column + 1); }
    [[nodiscard]] auto optional_time(int column) const { return rows_.optional_time(column + 1); }

   private:
    const Rows& rows_;
  };

  Connection& db_;
  const FactSource& source_;
  const bool is_arriving_;
  const OfOwners of_owners_;
};

}  // namespace

FactSlice read_facts(Connection& db, const FactSource& source, const FactCursor& from) {
  return rules::read_slice(rules::SliceMaker(from), FactReader(db, source));
}

}  // namespace perdure::postgres
