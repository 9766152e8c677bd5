// Moves over PostgreSQL: each step is one call of one function (sql/transfer.sql), which may be
// repeated when its answer was lost.

#include "store/api/transfer.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/upkeep.hpp"
#include "rules/calls.hpp"
#include "rules/moves.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
namespace {

// Owners on this machine whose processes have ended: there is no need to wait for them.
Result<std::vector<std::string>> find_ended_owners(Client& client) {
  return client.read([](Connection& db) -> Result<std::vector<std::string>> {
    Rows rows = db.query(
        "SELECT DISTINCT w.id, w.process FROM perdure.worker w "
        "JOIN perdure.session s ON s.owner = w.num");
    std::vector<std::string> gone;
    while (rows.next()) {
      if (has_ended(rows.text(1))) gone.push_back(rows.string(0));
    }
    return gone;
  });
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

Result<void> clear_all_garbage(const Access& access) {
  auto garbage = list_garbage(access);
  if (!garbage) return forward(garbage);
  Slices slices;
  auto cleared = clear_garbage(access, slices, *std::move(garbage));
  if (!cleared) return forward(cleared);
  return {};
}

Result<void> check_free(const SessionSummary& session) {
  const rules::Moved moved{.to = {.incarnation = {}, .place = session.moved_to}};
  if (auto here = rules::check_here(session.id, moved); !here) return here;
  if (!session.holder || !session.holder->alive) return {};
  const std::string& worker = session.holder->worker.text();
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {}", session.id.text(), worker), worker);
}

// The numbers of sessions that are here and not held.
Result<std::vector<OwnerNumber>> choose(Connection& db, std::optional<std::int64_t> uptime,
                                        const std::vector<SessionId>& sessions) {
  std::vector<std::string_view> names;
  names.reserve(sessions.size());
  for (const SessionId& session : sessions) names.push_back(session.text());
  std::set<std::string> found;
  Rows rows =
      db.query(select_sessions(names.empty() ? "WHERE cardinality($2) = 0 AND s.moved IS NULL"
                                             : "WHERE s.id = ANY ($2)"),
               Params::of(uptime, names));
  while (rows.next()) {
    const SessionSummary session = read_session(rows);
    if (auto free = check_free(session); !free) return forward(free);
    found.insert(session.id.text());
  }
  for (const SessionId& session : sessions) {
    if (found.contains(session.text())) continue;
    return fail(ErrorCode::not_found, fmt::format("there is no session {}", session.text()),
                session.text());
  }
  names.assign(found.begin(), found.end());
  Rows numbered =
      db.query("SELECT num FROM perdure.session WHERE id = ANY ($1)", Params::of(names));
  std::vector<OwnerNumber> numbers;
  while (numbered.next()) numbers.push_back(numbered.number(0));
  return numbers;
}

/// The owners: $1 the place that an arrival comes from, or the owners themselves; $2 is 1.
constexpr std::string_view those_that_arrive =
    "(SELECT owner, peer FROM perdure.transit WHERE peer = $1 AND side = $2)";
constexpr std::string_view those_named =
    "(SELECT x.owner FROM unnest($1::bigint[]) x(owner) WHERE $2 > 0)";

/// Facts in the order of FactKind. The row of a session that arrives is in another table. One
/// statement goes through many sessions, one after the other by their keys, and stops where the slice
/// is full.
class FactReader {
 public:
  FactReader(Connection& db, const FactSource& source)
      : db_(db),
        source_(source),
        is_arriving_(!source.arrival.from.empty()),
        who_(is_arriving_ ? those_that_arrive : those_named),
        id_(fmt::format("(SELECT r.id FROM perdure.{} r WHERE r.num = t.owner) AS session_id",
                        row_table())) {}

  void read_sessions(rules::SliceMaker& slice) {
    std::string columns = rules::ColumnNames::of<SessionFact::Row>("s.");
    if (is_arriving_) {
      constexpr std::string_view segment = "s.segment";
      columns.replace(columns.find(segment), segment.size(),
                      "(SELECT a.num FROM perdure.arrived_segment a WHERE a.peer = t.peer AND "
                      "a.origin = s.segment)");
    }
    Rows rows =
        db_.query(fmt::format("SELECT t.owner, {} FROM {} t LEFT JOIN perdure.{} s ON "
                              "s.num = t.owner WHERE t.owner > $3 ORDER BY t.owner LIMIT $4",
                              columns, who_, row_table()),
                  owners().add(slice.at().group).add(room_in(slice)));
    while (rows.next()) slice.add(rows.number(0), 0, rules::read_row<SessionFact>(rows));
  }

  void read_segments(rules::SliceMaker& slice) {
    Rows rows = db_.query(fmt::format("SELECT {} FROM perdure.segment g WHERE g.num > $3 AND "
                                      "g.session IN (SELECT t.owner FROM {} t) ORDER BY g.num "
                                      "LIMIT $4",
                                      rules::ColumnNames::of<SegmentFact>("g."), who_),
                          owners().add(slice.at().number).add(room_in(slice)));
    while (rows.next()) slice.add(0, rows.number(0), rules::read_row<SegmentFact>(rows));
  }

  void read_pruned(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format("SELECT {} FROM perdure.pruned p WHERE (p.segment, p.first) > ($3, $4) AND "
                    "p.segment IN (SELECT g.num FROM perdure.segment g JOIN {} t ON t.owner = "
                    "g.session) ORDER BY p.segment, p.first LIMIT $5",
                    rules::ColumnNames::of<PrunedFact>("p."), who_),
        owners().add(slice.at().group).add(slice.at().number).add(room_in(slice)));
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1), rules::read_row<PrunedFact>(rows));
    }
  }

  void read_entries(rules::SliceMaker& slice) {
    Rows rows = by_number(
        slice, as_far_as_bodies_fit(std::string(entry_columns), "entry e", "position", "true"));
    while (rows.next()) {
      Entry entry = read_entry(rows, 2);
      slice.add(rows.number(0), rows.number(1), std::move(entry));
    }
  }

  void read_receipts(rules::SliceMaker& slice) {
    read_rows<ReceiptFact>(slice, "receipt", "number");
  }
  void read_checkpoints(rules::SliceMaker& slice) {
    read_rows<CheckpointFact>(slice, "checkpoint", "version");
  }
  void read_calls(rules::SliceMaker& slice) { read_rows<CallFact>(slice, "call", "position"); }

  void read_waiting(rules::SliceMaker& slice) {
    Rows rows = by_number(slice, as_far_as_bodies_fit(columns_of<MessageFact>(), "message e", "num",
                                                      "NOT e.consumed"));
    add_rows<MessageFact>(slice, rows);
  }
  void read_consumed(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        of_owners("SELECT e.id AS place, " + columns_of<MessageFact>() +
                      " FROM perdure.message e WHERE e.session = t.owner AND e.id > t.after AND "
                      "e.consumed",
                  "''"),
        owners().add(slice.at().group).add(slice.at().name).add(room_in(slice)));
    while (rows.next()) {
      slice.add(rows.number(0), rows.string(1), rules::read_row<MessageFact>(rows, 2));
    }
  }

  void read_claims(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    const auto after = digest_from_hex(slice.at().name);
    Rows rows = db_.query(
        "SELECT session, position, 0::bigint, NULL::bigint, tool, ''::bytea, effect, key, state, "
        "attempts, failures, fence, intended_at, dispatched_at, NULL::bigint, settled_at, '', '', "
        "claimed FROM perdure.claim WHERE key > $1 AND session IS NOT NULL AND holder NOT IN "
        "(SELECT owner FROM perdure.transit WHERE side = 1) ORDER BY key LIMIT $2",
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
    while (rows.next()) slice.add(0, rows.string(0), rules::read_row<ResourceFact>(rows));
  }

 private:
  static std::int64_t room_in(const rules::SliceMaker& slice) {
    return static_cast<std::int64_t>(slice.room());
  }
  [[nodiscard]] std::string_view row_table() const { return is_arriving_ ? "arriving" : "session"; }

  /// The first two parameters of every statement about owners.
  [[nodiscard]] Params owners() const {
    return is_arriving_ ? Params::of(source_.arrival.from, 1) : Params::of(source_.owners, 1);
  }
  Rows by_number(const rules::SliceMaker& slice, const std::string& statement) {
    return db_.query(statement,
                     owners().add(slice.at().group).add(slice.at().number).add(room_in(slice)));
  }

  /// $3 is the owner that is not done, $4 what of it was read, $5 how many. `select` knows the owner as
  /// t.owner and what to begin behind as t.after, and calls what it is ordered by
  /// `place`.
  [[nodiscard]] std::string of_owners(const std::string& select, std::string_view none) const {
    return fmt::format(
        "SELECT t.owner, x.* FROM (SELECT owner, CASE WHEN owner = $3 THEN $4 ELSE {1} END AS "
        "after FROM {2} w WHERE owner >= $3 ORDER BY owner) t CROSS JOIN LATERAL ({0} ORDER BY "
        "place "
        "LIMIT $5) x ORDER BY t.owner, x.place LIMIT $5",
        select, none, who_);
  }

  /// Rows of the table, called `e`, by `key`, whose bodies fit: owner, key, columns.
  [[nodiscard]] std::string as_far_as_bodies_fit(const std::string& columns, std::string_view table,
                                                 std::string_view key,
                                                 std::string_view those) const {
    const std::string sizes = of_owners(
        fmt::format(
            "SELECT e.{1} AS place, coalesce(octet_length(e.body), octet_length(e.bytes), 0) "
            "AS size FROM perdure.{0} WHERE e.session = t.owner AND e.{1} > t.after AND {2}",
            table, key, those),
        "0");
    return fmt::format(
        "WITH slice AS ({4}), cut AS (SELECT s.owner, s.place, sum(s.size) OVER (ORDER BY s.owner, "
        "s.place) - s.size AS before FROM slice s) SELECT t.owner, t.place, {0} FROM cut t JOIN "
        "perdure.{1} ON e.session = t.owner AND e.{2} = t.place AND {3} WHERE t.before < {5} ORDER "
        "BY t.owner, t.place",
        columns, table, key, those, sizes, rules::slice_bytes_max);
  }

  /// Of a table that is called `e`, whose owner is t.owner.
  template <class OneFact>
  [[nodiscard]] std::string columns_of() const {
    std::string columns = rules::ColumnNames::of<OneFact>("e.", id_);
    constexpr std::string_view body = "e.body";
    if (const std::size_t at = columns.find(body); at != std::string::npos) {
      columns.replace(at, body.size(), "coalesce(convert_to(e.body, 'UTF8'), e.bytes) AS body");
    }
    return columns;
  }

  template <class OneFact>
  static void add_rows(rules::SliceMaker& slice, Rows& rows) {
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1), rules::read_row<OneFact>(rows, 2));
    }
  }

  template <class OneFact>
  void read_rows(rules::SliceMaker& slice, std::string_view table, std::string_view key) {
    Rows rows = by_number(
        slice,
        of_owners(fmt::format("SELECT e.{0} AS place, {1} FROM perdure.{2} e WHERE e.session = "
                              "t.owner AND e.{0} > t.after",
                              key, columns_of<OneFact>(), table),
                  "0"));
    add_rows<OneFact>(slice, rows);
  }

  Connection& db_;
  const FactSource& source_;
  const bool is_arriving_;
  const std::string_view who_;
  const std::string id_;
};

std::string hex_of(std::string_view bytes) {
  std::string text = "\\x";
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// A fact as perdure.take understands it: its columns under the source's numbers, in JSON. Bodies go
/// another way, and what a fact does not have is left out.
class FactObject : public rules::ColumnWriter<FactObject> {
 public:
  template <class Value>
  FactObject& put(std::string_view name, const Value& value) {
    if constexpr (std::same_as<Value, std::uint64_t>) {
      object_.emplace_back(name, sendable(value));
    } else if constexpr (std::same_as<Value, Digest>) {
      object_.emplace_back(name, Json("\\x" + to_hex(value)));
    } else if constexpr (!std::same_as<Value, std::nullopt_t>) {
      object_.emplace_back(name, Json(value));
    }
    return *this;
  }
  FactObject& put_body(const Body* body) {
    body_ = body;
    return *this;
  }
  FactObject& bytes(std::string_view name, const std::string& text) {
    return put(name, hex_of(text));
  }
  // What a claim is kept under. Its session is named by its id.
  FactObject& operator()(const ClaimFact& fact) {
    const Call& call = fact.call;
    (*this)(call);
    put("session", call.session.text());
    if (call.claimed) put("key", rules::claim_key(*call.claimed));
    return *this;
  }
  using ColumnWriter::operator();

  /// Null: it was erased or consumed, or this fact has none.
  [[nodiscard]] const Body* body() const { return body_; }
  [[nodiscard]] Json json() && { return Json(std::move(object_)); }

 private:
  Json::Object object_;
  const Body* body_ = nullptr;
};

/// A slice as perdure.take takes it, from the facts on. The slice must outlive this.
class SentFacts {
 public:
  explicit SentFacts(const FactSlice& slice) {
    // The slice's cursor may point to a kind of which there is nothing.
    if (!slice.facts.empty()) {
      kind_ = static_cast<std::int64_t>(rules::kind_of(slice.facts.front()));
    }
    Json::Array facts;
    for (const Fact& fact : slice.facts) {
      FactObject object;
      std::visit([&](const auto& one) { object(one); }, fact);
      add_body(object.body());
      facts.push_back(std::move(object).json());
    }
    facts_ = Json(std::move(facts)).text();
  }

  void add_to(Params& params) const {
    params.add(kind_).add(facts_).add(bodies_).add(bytes_).add(blobs_).add(blob_sizes_);
  }

 private:
  void add_body(const Body* body) {
    const BodyColumns columns = body == nullptr ? BodyColumns{} : columns_of(*body);
    bodies_.push_back(columns.body);
    bytes_.push_back(columns.bytes);
    const auto ref = body == nullptr ? std::nullopt : body->blob();
    if (!ref) return;
    digests_.push_back(ref->digest);
    blobs_.push_back(bytes_view(digests_.back()));
    blob_sizes_.push_back(sendable(ref->size));
  }

  std::int64_t kind_ = 0;
  std::string facts_;
  std::vector<std::optional<std::string_view>> bodies_;
  std::vector<std::optional<BytesView>> bytes_;
  std::deque<Digest> digests_;
  std::vector<BytesView> blobs_;
  std::vector<std::int64_t> blob_sizes_;
};

// These sessions, or all that are here, and removed ones whose segments they share.
Result<std::vector<OwnerNumber>> find_owners(Connection& db, std::optional<std::int64_t> uptime,
                                             const std::vector<SessionId>& sessions) {
  auto chosen = choose(db, uptime, sessions);
  if (!chosen) return forward(chosen);
  db.query("SELECT perdure.require_families($1)", Params::of(*chosen));
  Rows rows = db.query(
      "WITH RECURSIVE above(num) AS (SELECT g.parent FROM perdure.segment g WHERE g.session = "
      "ANY ($1) AND g.parent IS NOT NULL UNION SELECT g.parent FROM perdure.segment g JOIN above "
      "a ON g.num = a.num WHERE g.parent IS NOT NULL) SELECT unnest($1) AS owner UNION SELECT "
      "g.session FROM perdure.segment g JOIN above a ON a.num = g.num ORDER BY owner",
      Params::of(*chosen));
  std::vector<OwnerNumber> owners;
  while (rows.next()) owners.push_back(rows.number(0));
  return owners;
}

}  // namespace

// What is left of removed sessions is cleared away first: it would change under the reader.
Result<FactSlice> PostgresRoles::read(const FactSource& source, const FactCursor& from) {
  if (source.names_sessions()) {
    if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  }
  return access_.client.read([&](Connection& db) -> Result<FactSlice> {
    FactSource known = source;
    if (source.names_sessions()) {
      auto owners = find_owners(db, access_.uptime(), source.sessions);
      if (!owners) return forward(owners);
      known.owners = *std::move(owners);
    }
    std::vector<Arrival> open;
    Rows rows = db.query("SELECT peer, ticket FROM perdure.move WHERE side = 1 AND since > 0");
    while (rows.next()) open.push_back({.from = rows.string(0), .attempt = rows.number(1)});
    FactSlice slice = rules::read_slice(rules::SliceMaker(from), FactReader(db, known));
    const auto own = std::ranges::find(open, source.arrival.from, &Arrival::from);
    slice.attempt = own == open.end() ? 0 : own->attempt;
    slice.arrivals = std::move(open);
    slice.owners = std::move(known.owners);
    return slice;
  });
}

Result<void> PostgresRoles::take(const Arrival& arrival, const FactSlice& slice) {
  const std::string start = rules::to_text(FactCursor{});
  const std::string from = rules::to_text(slice.from);
  const std::string next = rules::to_text(slice.next);
  const SentFacts facts(slice);
  Params params = Params::of(arrival.from, arrival.attempt, start, from, next, slice.from.is_end());
  facts.add_to(params);
  auto taken = access_.write(
      "SELECT perdure.take($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9, $10, $11, $12)", params);
  if (!taken) return forward(taken);
  return {};
}

Result<void> PostgresRoles::discard(const Arrival& arrival) {
  auto discarded = access_.write("SELECT perdure.discard_arrival($1, $2)",
                                 Params::of(arrival.from, arrival.attempt));
  if (!discarded) return forward(discarded);
  return clear_all_garbage(access_);
}

Result<void> PostgresRoles::mark_moved(const Destination& to, std::uint64_t attempt,
                                       const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  auto gone = find_ended_owners(access_.client);
  if (!gone) return forward(gone);
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> revisions;
  for (const SessionVersion& version : sessions) {
    names.push_back(version.session.text());
    revisions.push_back(version.revision);
  }
  const std::vector<std::string_view> ended = views(*gone);
  auto marked = access_.write(
      "SELECT perdure.mark_moved($1, $2, $3, $4, $5, $6, $7)",
      Params::of(access_.uptime(), to.incarnation, to.place, attempt, names, revisions, ended));
  if (!marked) return forward(marked);
  return {};
}

}  // namespace perdure::postgres
