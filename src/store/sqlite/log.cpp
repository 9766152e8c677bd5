// Reading history over SQLite: a line is a few ranges of entry keys, each read once.

#include "perdure/store/log.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "rules/checks.hpp"
#include "rules/match.hpp"
#include "sqlite/line.hpp"
#include "sqlite/roles.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

Result<std::vector<Part>> line_of(Connection& db, const SessionId& session, Point as_of) {
  auto number = require_session(db, session);
  if (!number) return forward(number);
  auto place = resolve(db, *number, as_of);
  if (!place) return forward(place);
  return line_to(db, *place);
}

void read_part(Connection& db, const Part& part, const LogQuery& query,
               std::vector<Entry>& entries) {
  const Position from = std::max(query.from, part.first);
  const Position to = std::min(query.to, part.last);
  if (from > to || entries.size() >= query.limit) return;
  const bool forwards = query.order == Order::oldest_first;
  Rows rows = db.query(
      sql(select_entry, forwards ? "WHERE id BETWEEN ? AND ? AND (? = '' OR channel = ?3) ORDER BY "
                                   "id LIMIT ?"
                                 : "WHERE id BETWEEN ? AND ? AND (? = '' OR channel = ?3) ORDER BY "
                                   "id DESC LIMIT ?"),
      entry_key(part.segment, from), entry_key(part.segment, to), query.channel,
      query.limit - entries.size());
  while (rows.next()) entries.push_back(read_entry(rows));
}

SessionId session_id(Connection& db, std::int64_t number) {
  Rows rows = db.query("SELECT id FROM session WHERE num = ?", number);
  return rows.next() ? stored_id<SessionId>(rows.text(0)) : SessionId{};
}

}  // namespace

Result<std::vector<Entry>> SqliteLog::read(const SessionId& session, const LogQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Entry>> {
    auto parts = line_of(db, session, query.as_of);
    if (!parts) return forward(parts);
    if (query.order == Order::newest_first) std::ranges::reverse(*parts);
    std::vector<Entry> entries;
    for (const Part& part : *parts) read_part(db, part, query, entries);
    return entries;
  });
}

Result<std::optional<Entry>> SqliteLog::find_value(const SessionId& session,
                                                   const std::string& channel, Point as_of) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Entry>> {
    auto parts = line_of(db, session, as_of);
    if (!parts) return forward(parts);
    for (auto part = parts->rbegin(); part != parts->rend(); ++part) {
      Rows rows = db.query(
          sql(select_entry,
              "WHERE channel = ? AND fold = 1 AND id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"),
          channel, entry_key(part->segment, part->first), entry_key(part->segment, part->last));
      if (rows.next()) return read_entry(rows);
    }
    return std::nullopt;
  });
}

Result<Checkpoint> SqliteLog::read_checkpoint(const SessionId& session, Version version) {
  return access_.readers.read([&](Connection& db) -> Result<Checkpoint> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows =
        db.query(sql(select_checkpoint, "WHERE session = ? AND version = ?"), *number, version);
    if (rows.next()) return sqlite::read_checkpoint(rows);
    return fail(ErrorCode::not_found,
                fmt::format("session {} has no version {}", session.text(), version));
  });
}

Result<std::vector<Checkpoint>> SqliteLog::checkpoints(const SessionId& session,
                                                       const CheckpointQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Checkpoint>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    constexpr Version any = static_cast<Version>(std::numeric_limits<std::int64_t>::max());
    const Version before = std::min(query.before.value_or(any), any);
    std::vector<Checkpoint> found;
    Rows rows =
        db.query(query.label.empty()
                     ? sql(select_checkpoint,
                           "WHERE session = ? AND version < ? AND ? = '' ORDER BY version DESC")
                     : sql(select_checkpoint,
                           "WHERE session = ? AND version < ? AND label = ? AND label <> '' "
                           "ORDER BY version DESC"),
                 *number, before, query.label);
    while (found.size() < query.limit && rows.next()) {
      Checkpoint checkpoint = sqlite::read_checkpoint(rows);
      if (rules::matches(query, checkpoint)) found.push_back(std::move(checkpoint));
    }
    return found;
  });
}

Result<std::vector<Segment>> SqliteLog::line(const SessionId& session, Point as_of) {
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Segment>> {
    auto parts = line_of(db, session, as_of);
    if (!parts) return forward(parts);
    std::vector<Segment> segments;
    for (const Part& part : *parts) {
      segments.push_back({.id = part.segment,
                          .session = session_id(db, part.session),
                          .first = part.first,
                          .parent = part.parent,
                          .parent_position = part.parent_position});
    }
    return segments;
  });
}

Result<std::optional<Receipt>> SqliteLog::find_receipt(const SessionId& session,
                                                       const BatchId& batch) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Receipt>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(select_receipt, *number, batch.text());
    if (!rows.next()) return std::nullopt;
    return read_receipt(rows);
  });
}

}  // namespace perdure::sqlite
