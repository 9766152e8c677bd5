// Reading history over PostgreSQL, each in one statement: the parts of the line, and a range of
// entries of each. Only where positions skip a second one asks whether they should.

#include "perdure/store/log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"
#include "store/api/lookup.hpp"

namespace perdure::postgres {
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

}  // namespace perdure::postgres
