// The roles that are a few queries each: the log, the ledger, the inbox, blobs.

#include "postgres/operations/roles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/retention.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::postgres {

// Reading history over PostgreSQL, each in one statement: the parts of the line, and a range of
// entries of each. Only where positions skip a second one asks whether they should.

namespace {

constexpr std::string_view select_checkpoint =
    "SELECT version, position, at, reason, label, metadata, turns, steps, tokens_in, tokens_out, "
    "cost_micros FROM perdure.checkpoint WHERE session = n.num ";
/// Checkpoints asked for at a time, where only C++ knows how many of them are wanted.
constexpr std::int64_t checkpoints_at_once = 1000;

std::string read_sql(Order order) {
  const std::string_view way = order == Order::oldest_first ? "" : "DESC";
  return fmt::format(
      "SELECT {0}, p.last FROM perdure.parts($1, $2, $3, $4) p CROSS JOIN LATERAL ("
      "SELECT * FROM perdure.entry e WHERE e.session = p.session AND e.position BETWEEN "
      "greatest(p.first, $5) AND least(p.last, $6) AND ($7 = '' OR e.channel = $7) "
      "ORDER BY e.position {1} LIMIT $8) e LIMIT $8",
      entry_columns, way);
}

constexpr int part_last_column = 15;

// What was read of a query, and how far its parts go.
struct Page {
  std::vector<Entry> entries{};
  Position part_last = 0;  ///< Of the part that the newest of them is on.
};

// Whether positions are left out that may have had entries. A look at the numbers only: they also skip
// where a branch left something behind, or something was pruned.
bool may_have_gap(const LogQuery& query, const Page& page) {
  if (!query.channel.empty()) return false;
  const bool forwards = query.order == Order::oldest_first;
  const bool is_full = page.entries.size() >= query.limit;
  const bool ends_known = query.as_of.kind() == Point::Kind::position;
  const Position from = std::max<Position>(query.from, 1);
  Position to = std::min(query.to, page.part_last);
  if (ends_known) to = std::min(query.to, query.as_of.number());
  if (page.entries.empty()) return ends_known && from <= to;
  Position oldest = page.entries.front().position;
  Position newest = page.entries.back().position;
  if (!forwards) std::swap(oldest, newest);
  if (newest - oldest + 1 != page.entries.size()) return true;
  const bool begins_late = oldest > from && (forwards || !is_full);
  const bool ends_early = newest < to && (!forwards || !is_full);
  return begins_late || ends_early;
}

// Puts a damaged entry where one must have been. Which channel it was on is not known.
void add_lost(Connection& db, const SessionId& session, const LogQuery& query, Page& page) {
  std::vector<Entry>& entries = page.entries;
  const bool forwards = query.order == Order::oldest_first;
  Position from = query.from;
  Position to = query.to;
  // What follows a full page is read with the next one.
  if (entries.size() >= query.limit) (forwards ? to : from) = entries.back().position;
  Rows rows = db.query(
      fmt::format("SELECT p.segment, g.position FROM perdure.parts($1, $2, $3, $4) p "
                  "CROSS JOIN LATERAL generate_series(greatest(p.first, $5), least(p.last, $6)) "
                  "g(position) WHERE NOT EXISTS (SELECT FROM perdure.entry e "
                  "WHERE e.session = p.session AND e.position = g.position) "
                  "AND NOT EXISTS (SELECT FROM perdure.pruned d WHERE d.segment = p.segment "
                  "AND d.first <= g.position AND d.upto > g.position) "
                  "ORDER BY g.position {} LIMIT $7",
                  forwards ? "" : "DESC"),
      Params::of(session.text(), kind_of(query.as_of), sendable(query.as_of.number()), !forwards,
                 sendable(from), sendable(to), static_cast<std::int64_t>(query.limit)));
  while (rows.next()) entries.push_back(rules::lost_entry(rows.number(0), rows.number(1)));
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    return forwards ? a.position < b.position : b.position < a.position;
  });
  if (entries.size() > query.limit) entries.resize(query.limit);
}

}  // namespace

Result<std::vector<Entry>> PostgresRoles::read(const SessionId& session, const LogQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  const bool newest = query.order == Order::newest_first;
  return access_.client.read([&](Connection& db) -> Result<std::vector<Entry>> {
    Rows rows =
        db.query(read_sql(query.order),
                 Params::of(session.text(), kind_of(query.as_of), sendable(query.as_of.number()),
                            newest, sendable(query.from), sendable(query.to),
                            searchable(query.channel), static_cast<std::int64_t>(query.limit)));
    Page page;
    page.entries.reserve(rows.count());
    while (rows.next()) {
      page.entries.push_back(read_entry(rows));
      page.part_last = std::max(page.part_last, rows.number(part_last_column));
    }
    if (may_have_gap(query, page)) add_lost(db, session, query, page);
    return std::move(page.entries);
  });
}

Result<std::optional<Entry>> PostgresRoles::find_value(const SessionId& session,
                                                       const std::string& channel, Point as_of) {
  return access_.client.read([&](Connection& db) -> Result<std::optional<Entry>> {
    Rows rows = db.query(
        fmt::format("SELECT {} FROM perdure.parts($1, $2, $3, true) p CROSS JOIN LATERAL ("
                    "SELECT * FROM perdure.entry e WHERE e.session = p.session AND e.channel = $4 "
                    "AND e.fold = 1 AND e.position BETWEEN p.first AND p.last "
                    "ORDER BY e.position DESC LIMIT 1) e LIMIT 1",
                    entry_columns),
        Params::of(session.text(), kind_of(as_of), sendable(as_of.number()), searchable(channel)));
    if (!rows.next()) return std::nullopt;
    return read_entry(rows);
  });
}

Result<std::vector<Checkpoint>> PostgresRoles::checkpoints(const SessionId& session,
                                                           const CheckpointQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  const std::string statement = sql_of_session(
      select_checkpoint, query.label.empty()
                             ? "AND version < $2 AND $3 = '' ORDER BY version DESC LIMIT $4"
                             : "AND version < $2 AND label = $3 AND label <> '' "
                               "ORDER BY version DESC LIMIT $4");
  const std::int64_t at_once =
      std::cmp_less(query.limit, checkpoints_at_once)
          ? std::max<std::int64_t>(1, static_cast<std::int64_t>(query.limit))
          : checkpoints_at_once;
  return access_.client.read([&](Connection& db) -> Result<std::vector<Checkpoint>> {
    std::vector<Checkpoint> found;
    std::int64_t before = sendable(query.before.value_or(~Version{0}));
    while (true) {
      Rows rows =
          db.query(statement, Params::of(session.text(), before, searchable(query.label), at_once));
      std::int64_t read = 0;
      for (; rows.next() && !rows.is_null(0); ++read) {
        Checkpoint checkpoint = rules::read_checkpoint(rows);
        before = sendable(checkpoint.version);
        if (!rules::matches(query, checkpoint)) continue;
        found.push_back(std::move(checkpoint));
        if (found.size() == query.limit) return found;
      }
      // A session without any has one row of nulls, which says that it is there.
      if (read < at_once) return found;
    }
  });
}

Result<std::vector<Segment>> PostgresRoles::line(const SessionId& session, Point as_of) {
  return access_.client.read([&](Connection& db) -> Result<std::vector<Segment>> {
    Rows rows = db.query(
        "SELECT p.segment, (SELECT s.id FROM perdure.session s WHERE s.num = p.session), p.first, "
        "p.parent, p.parent_position FROM perdure.parts($1, $2, $3, false) p",
        Params::of(session.text(), kind_of(as_of), sendable(as_of.number())));
    std::vector<Segment> segments;
    while (rows.next()) {
      segments.push_back({.id = rows.number(0),
                          .session = rules::stored_id<SessionId>(rows.text(1)),
                          .first = rows.number(2),
                          .parent = rules::optional_position(rows, 3),
                          .parent_position = rows.number(4)});
    }
    return segments;
  });
}

Result<std::optional<Receipt>> PostgresRoles::find_receipt(const SessionId& session,
                                                           const BatchId& batch) {
  return access_.client.read([&](Connection& db) -> Result<std::optional<Receipt>> {
    Rows rows = db.query(
        sql_of_session("SELECT batch, first, count, head, version, at, chain FROM perdure.receipt ",
                       "WHERE session = n.num AND batch = $2"),
        Params::of(session.text(), batch.text()));
    if (!rows.next() || rows.is_null(0)) return std::nullopt;
    return rules::read_receipt(rows);
  });
}

// Reading the ledger over PostgreSQL. Calls change in commits only (sql/calls.sql).

namespace {

constexpr std::string_view select_call =
    "SELECT s.id, c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state, "
    "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, c.settled_at, "
    "c.who, c.why, c.claimed FROM perdure.call c JOIN perdure.session s ON s.num = c.session ";

/// The call of a removed session that holds the key: its payload is gone.
constexpr std::string_view select_claim =
    "SELECT session, position, 0::bigint, NULL::bigint, tool, ''::bytea, effect, key, state, "
    "attempts, failures, fence, intended_at, dispatched_at, NULL::bigint, settled_at, '', '', "
    "claimed FROM perdure.claim WHERE session IS NOT NULL AND key";

/// The calls of one state, in order, as far as a page can need them: the index of open calls has
/// them so. $2 the states, $3 how many, $4 and $5 the call to begin behind.
constexpr std::string_view open_calls =
    "JOIN (SELECT x.session, x.position FROM unnest($2::text[]) v(state) CROSS JOIN LATERAL "
    "(SELECT "
    "o.session, o.position FROM perdure.call o WHERE o.state IN ('intended', 'dispatched', "
    "'in_doubt') AND o.state = v.state AND (o.session, o.position) > ($4, $5) AND EXISTS (SELECT "
    "FROM perdure.session r WHERE r.num = o.session) ORDER BY o.session, o.position LIMIT $3) x "
    "ORDER BY x.session, x.position LIMIT $3) p ON p.session = c.session AND p.position = "
    "c.position WHERE $1 ";

// Without a session only open calls have an index; settled ones of all sessions are many.
std::string list_sql(const CallQuery& query) {
  constexpr std::string_view order = "ORDER BY c.session, c.position LIMIT $3";
  const bool only_open = !query.states.empty() && std::ranges::all_of(query.states, rules::is_open);
  if (!query.session && only_open) return sql(select_call, fmt::format("{} {}", open_calls, order));
  const std::string where =
      fmt::format("WHERE {} AND {} AND (c.session, c.position) > ($4, $5) {}",
                  query.session ? "c.session = n.num" : "$1",
                  query.states.empty() ? "cardinality($2) = 0" : "c.state = ANY ($2)", order);
  return query.session ? sql_of_session(select_call, where) : sql(select_call, where);
}

Result<std::int64_t> number_after(Connection& db, const std::optional<CallId>& call) {
  if (!call) return 0;
  Rows rows =
      db.query("SELECT num FROM perdure.session WHERE id = $1", Params::of(call->session.text()));
  if (rows.next()) return rows.integer(0);
  const std::string& id = call->session.text();
  return fail(ErrorCode::not_found, fmt::format("there is no session {}", id), id);
}

std::vector<Call> read_calls(Rows rows) {
  std::vector<Call> calls;
  while (rows.next() && !rows.is_null(0)) calls.push_back(rules::read_call(rows));
  return calls;
}

}  // namespace

Result<Call> PostgresRoles::read(const SessionId& session, Position call) {
  return access_.client.read([&](Connection& db) -> Result<Call> {
    Rows rows = db.query(sql_of_session(select_call, "WHERE c.session = n.num AND c.position = $2"),
                         Params::of(session.text(), sendable(call)));
    if (rows.next() && !rows.is_null(0)) return rules::read_call(rows);
    const std::string name = call_name(session, call);
    return fail(ErrorCode::not_found, fmt::format("there is no call {}", name), name);
  });
}

Result<std::optional<Call>> PostgresRoles::find_holder(const Digest& key) {
  return access_.client.read([&](Connection& db) -> Result<std::optional<Call>> {
    Rows rows = db.query(
        sql(select_call, fmt::format("JOIN perdure.claim h ON h.holder = c.session AND h.position "
                                     "= c.position WHERE h.key = $1 AND h.session IS NULL "
                                     "UNION ALL {} = $1",
                                     select_claim)),
        Params::of(key));
    if (!rows.next()) return std::nullopt;
    return rules::read_call(rows);
  });
}

// Of the same age by the clock, a claim, whose session is gone, comes before a call.
Result<std::vector<Call>> PostgresRoles::with_key(const Digest& key) {
  constexpr std::string_view oldest_first = "ORDER BY c.intended_at, c.session, c.position";
  const std::string statement = fmt::format(
      "{0} = $1 UNION ALL {0} = $2 UNION ALL ({1}WHERE c.key = $1 {2}) UNION ALL ({1}WHERE "
      "c.claimed = $1 AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned') {2})",
      select_claim, select_call, oldest_first);
  return access_.client.read([&](Connection& db) -> Result<std::vector<Call>> {
    std::vector<Call> calls =
        read_calls(db.query(statement, Params::of(key, rules::claim_key(key))));
    std::ranges::stable_sort(calls, {}, &Call::intended_at);
    return calls;
  });
}

Result<std::vector<Call>> PostgresRoles::list(const CallQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  std::vector<std::string_view> states;
  for (const CallState state : std::set(query.states.begin(), query.states.end())) {
    states.push_back(to_string(state));
  }
  return access_.client.read([&](Connection& db) -> Result<std::vector<Call>> {
    auto after = number_after(db, query.after);
    if (!after) return forward(after);
    const std::int64_t position = query.after ? sendable(query.after->position) : 0;
    const auto limit = static_cast<std::int64_t>(query.limit);
    if (!query.session) {
      return read_calls(
          db.query(list_sql(query), Params::of(true, states, limit, *after, position)));
    }
    return read_calls(db.query(list_sql(query),
                               Params::of(query.session->text(), states, limit, *after, position)));
  });
}

// The inbox over PostgreSQL.

Result<void> PostgresRoles::post(const InboxMessage& message) {
  if (auto checked = rules::check(message); !checked) return checked;
  const BodyColumns columns = columns_of(message.body);
  const auto ref = message.body.blob();
  return without_rows(access_.call("post", access_.now(), access_.is_synced(Sync::now),
                                   message.session.text(), message.id.text(), message.kind,
                                   static_cast<std::int64_t>(message.body.codec()), columns.body,
                                   columns.bytes, ref ? std::optional(ref->digest) : std::nullopt,
                                   ref ? std::optional(sendable(ref->size)) : std::nullopt));
}

Result<std::vector<InboxMessage>> PostgresRoles::list(const SessionId& session, std::size_t limit) {
  if (auto checked = rules::check_limit(limit); !checked) return forward(checked);
  return access_.client.read([&](Connection& db) -> Result<std::vector<InboxMessage>> {
    Rows rows =
        db.query(sql_of_session("SELECT id, kind, codec, at, body, bytes FROM perdure.message ",
                                "WHERE session = n.num AND NOT consumed ORDER BY num LIMIT $2"),
                 Params::of(session.text(), static_cast<std::int64_t>(limit)));
    std::vector<InboxMessage> messages;
    while (rows.next() && !rows.is_null(0)) {
      messages.push_back({.session = session,
                          .id = rules::stored_id<MessageId>(rows.text(0)),
                          .kind = rows.string(1),
                          .body = read_body(rows, 2, 4, 5),
                          .at = rows.time(3)});
    }
    return messages;
  });
}

// Blobs over PostgreSQL: a row, and its bytes in chunks, put in one transaction.

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;

std::unexpected<Error> missing(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {}", name), name);
}

bool is_there(Connection& db, const BlobRef& ref) {
  return db
      .query("SELECT FROM perdure.blob WHERE hash = $1 AND size = $2",
             Params::of(ref.digest, sendable(ref.size)))
      .next();
}

// A few chunks at a time: a blob is large, and so is what libpq makes of a result.
std::string read_range(Connection& db, const BlobRef& ref, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t chunks_at_once = 8;
  std::string bytes;
  bytes.reserve(end - begin);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t first = at / chunk_bytes;
    Rows rows = db.query(
        "SELECT bytes FROM perdure.chunk WHERE hash = $1 AND number >= $2 AND number < $3 "
        "ORDER BY number",
        Params::of(ref.digest, first, first + chunks_at_once));
    std::uint64_t chunk = first;
    for (; rows.next() && at < end; ++chunk) {
      const std::string_view part =
          rows.text(0).substr(std::min<std::size_t>(at - chunk * chunk_bytes, rows.text(0).size()));
      bytes.append(part.substr(0, end - at));
      at = (chunk + 1) * chunk_bytes;
    }
    if (chunk == first) break;  // Chunks are missing; the hash will tell.
  }
  return bytes;
}

}  // namespace

Result<BlobRef> PostgresRoles::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a blob may have {} bytes, this has {}", blob_bytes_max, bytes.size()));
  }
  const BlobRef ref{.digest = sha256(bytes), .size = bytes.size()};
  const bool synced = access_.is_synced(Sync::now);
  auto touched = access_.call("touch_blob", access_.now(), synced, ref.digest, sendable(ref.size));
  if (!touched) return forward(touched);
  if (touched->next() && touched->boolean(0)) return ref;
  std::vector<Params> params;
  params.push_back(Params::of(access_.now(), synced, ref.digest, sendable(ref.size)));
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    params.push_back(Params::of(ref.digest, static_cast<std::int64_t>(at / chunk_bytes),
                                BytesView{bytes.substr(at, chunk_bytes)}));
  }
  std::vector<Statement> statements;
  statements.reserve(params.size());
  for (const Params& part : params) {
    statements.push_back({.sql = statements.empty() ? "SELECT perdure.put_blob($1, $2, $3, $4)"
                                                    : "SELECT perdure.put_chunk($1, $2, $3)",
                          .params = &part});
  }
  auto put = access_.client.write_all(statements);
  if (!put) return forward(put);
  access_.watcher.note_write();
  return ref;
}

Result<std::string> PostgresRoles::read(const BlobRef& ref, std::uint64_t offset,
                                        std::uint64_t size) {
  return access_.client.read([&](Connection& db) -> Result<std::string> {
    if (!is_there(db, ref)) return missing(ref);
    const std::uint64_t begin = std::min(offset, ref.size);
    return read_range(db, ref, begin, begin + std::min(size, ref.size - begin));
  });
}

}  // namespace perdure::postgres
