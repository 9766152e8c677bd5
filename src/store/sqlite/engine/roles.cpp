// The roles that are a few queries each: the log, the ledger, the inbox, blobs.

#include "sqlite/engine/roles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/retention.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::sqlite {

// Reading history over SQLite: a line is a few ranges of entry keys, each read once.

namespace {

Result<std::vector<Part>> line_of(Connection& db, const SessionId& session, Point as_of) {
  auto number = require_session(db, session);
  if (!number) return forward(number);
  auto place = resolve(db, *number, as_of);
  if (!place) return forward(place);
  return line_to(db, *place);
}

// The positions of one segment that a query asks for.
std::optional<Stretch> stretch_of(const Part& part, const LogQuery& query) {
  const Position from = std::max(query.from, part.first);
  const Position to = std::min(query.to, part.last);
  if (from > to) return std::nullopt;
  return Stretch{part.segment, from, to};
}

// The last position that some commit is known to have filled, or that has an entry.
Position last_known(Connection& db, const Part& part, const Stretch& stretch) {
  Position last = stretch.first;
  try {
    Rows rows = db.query("SELECT first, count FROM receipt WHERE session = ? AND segment = ?",
                         part.session, part.segment);
    while (rows.next()) {
      if (rows.number(1) > batch_entries_max) continue;
      last = std::max(last, rows.number(0) + rows.number(1) - 1);
    }
    Rows newest = db.query("SELECT id FROM entry WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
                           entry_key(stretch.segment, stretch.first),
                           entry_key(stretch.segment, stretch.last));
    if (newest.next()) last = std::max(last, newest.number(0) & position_max);
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    last = stretch.first + limit_max;
  }
  return std::min(last, stretch.last);
}

// Reads all of the stretch, and puts a damaged entry where one must have been. Which channel a
// lost entry was on is unknown, so it is shown in all of them.
void read_damaged(Connection& db, const Part& part, const LogQuery& query,
                  std::vector<Entry>& entries) {
  auto stretch = *stretch_of(part, query);
  stretch.last = last_known(db, part, stretch);
  std::vector<Entry> found;
  scan_entries(db, stretch,
               {.entry =
                    [&](Entry&& entry) {
                      const bool is_wanted = query.channel.empty() || rules::is_lost(entry) ||
                                             entry.channel == query.channel;
                      if (is_wanted) found.push_back(std::move(entry));
                    },
                .missing =
                    [&](Position first, Position last) {
                      for (const Stretch& left : not_pruned(db, {part.segment, first, last})) {
                        for (Position at = left.first; at <= left.last; ++at) {
                          found.push_back(rules::lost_entry(part.segment, at));
                        }
                      }
                    }});
  if (query.order == Order::newest_first) std::ranges::reverse(found);
  for (Entry& entry : found) {
    if (entries.size() >= query.limit) return;
    entries.push_back(std::move(entry));
  }
}

// Whether the entries from number `begin` on leave out positions that were not pruned. A look at
// the numbers only: the table is asked where they skip.
bool has_gap(Connection& db, const Stretch& stretch, const LogQuery& query,
             const std::vector<Entry>& entries, std::size_t begin) {
  if (!query.channel.empty()) return false;
  const bool forwards = query.order == Order::oldest_first;
  // What is still to come, from either end.
  Stretch rest = stretch;
  const auto was_there = [&](Position first, Position last) {
    return first <= last && !not_pruned(db, {stretch.segment, first, last}).empty();
  };
  for (std::size_t i = begin; i < entries.size(); ++i) {
    const Position at = entries[i].position;
    if (forwards ? was_there(rest.first, at - 1) : was_there(at + 1, rest.last)) return true;
    (forwards ? rest.first : rest.last) = forwards ? at + 1 : at - 1;
  }
  return entries.size() < query.limit && was_there(rest.first, rest.last);
}

// Of a row that was zeroed, no channel is known: it is shown in all of them, too.
void read_rows(Connection& db, const Stretch& stretch, const LogQuery& query,
               std::vector<Entry>& entries) {
  const bool forwards = query.order == Order::oldest_first;
  Rows rows =
      db.query(sql(select_entry,
                   forwards ? "WHERE id BETWEEN ? AND ? AND (? = '' OR coalesce(channel, '') IN "
                              "('', ?3)) ORDER BY id LIMIT ?"
                            : "WHERE id BETWEEN ? AND ? AND (? = '' OR coalesce(channel, '') IN "
                              "('', ?3)) ORDER BY id DESC LIMIT ?"),
               entry_key(stretch.segment, stretch.first), entry_key(stretch.segment, stretch.last),
               query.channel, query.limit - entries.size());
  // A page of all channels has as many entries as positions; of one channel, that is unknown.
  if (query.channel.empty()) {
    const std::size_t more = std::min<Position>(stretch.last - stretch.first + 1, query.limit);
    entries.reserve(std::min(entries.size() + more, query.limit));
  }
  while (rows.next()) entries.push_back(read_entry(rows));
}

void read_part(Connection& db, const Part& part, const LogQuery& query,
               std::vector<Entry>& entries) {
  const auto stretch = stretch_of(part, query);
  if (!stretch || entries.size() >= query.limit) return;
  const std::size_t before = entries.size();
  const auto is_whole = unless_damaged([&] {
    read_rows(db, *stretch, query, entries);
    return !has_gap(db, *stretch, query, entries, before);
  });
  if (is_whole.value_or(false)) return;
  entries.resize(before);
  read_damaged(db, part, query, entries);
}

// Without the index of values. A newer one may have been where an entry is lost.
std::optional<Entry> search_value(Connection& db, const Part& part, const std::string& channel) {
  LogQuery all;
  all.order = Order::newest_first;
  std::vector<Entry> entries;
  read_part(db, part, all, entries);
  for (Entry& entry : entries) {
    if (rules::is_lost(entry)) throw SqliteError(SQLITE_CORRUPT, "the value may be a lost entry");
    if (entry.channel == channel && entry.fold == Fold::replace) return std::move(entry);
  }
  return std::nullopt;
}

std::optional<Entry> find_value_in(Connection& db, const Part& part, const std::string& channel) {
  auto found = unless_damaged([&]() -> std::optional<Entry> {
    Rows rows = db.query(
        sql(select_entry,
            "WHERE channel = ? AND fold = 1 AND id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"),
        channel, entry_key(part.segment, part.first), entry_key(part.segment, part.last));
    return rows.next() ? std::optional(read_entry(rows)) : std::nullopt;
  });
  return found ? *std::move(found) : search_value(db, part, channel);
}

// Adds the next checkpoint, if it is wanted. False if there is none.
bool add_matching(Rows& rows, const CheckpointQuery& query, std::vector<Checkpoint>& found) {
  if (!rows.next()) return false;
  Checkpoint checkpoint = sqlite::read_checkpoint(rows);
  if (rules::matches(query, checkpoint)) found.push_back(std::move(checkpoint));
  return true;
}

// One by one, where they cannot be listed: those that can be read.
std::vector<Checkpoint> search_checkpoints(Connection& db, std::int64_t session,
                                           const CheckpointQuery& query) {
  std::vector<Checkpoint> found;
  Version latest =
      std::min<Version>(db.number("SELECT version FROM session WHERE num = ?", session), limit_max);
  if (query.before) latest = std::min(latest, *query.before == 0 ? 0 : *query.before - 1);
  for (Version version = latest; version > 0 && found.size() < query.limit; --version) {
    const auto read = unless_damaged([&] {
      Rows rows =
          db.query(sql(select_checkpoint, "WHERE session = ? AND version = ?"), session, version);
      return add_matching(rows, query, found);
    });
    // One that is asked for by its number is not passed over.
    if (!read && query.limit == 1 && version == latest) {
      throw SqliteError(SQLITE_CORRUPT, "a version cannot be read");
    }
  }
  return found;
}

std::vector<Checkpoint> list_checkpoints(Connection& db, std::int64_t session,
                                         const CheckpointQuery& query) {
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
               session, before, query.label);
  while (found.size() < query.limit && add_matching(rows, query, found)) continue;
  return found;
}

SessionId session_id(Connection& db, std::int64_t number) {
  Rows rows = db.query("SELECT id FROM session WHERE num = ?", number);
  return rows.next() ? stored_id<SessionId>(rows.text(0)) : SessionId{};
}

}  // namespace

Result<std::vector<Entry>> SqliteRoles::read(const SessionId& session, const LogQuery& query) {
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

Result<std::optional<Entry>> SqliteRoles::find_value(const SessionId& session,
                                                     const std::string& channel, Point as_of) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Entry>> {
    auto parts = line_of(db, session, as_of);
    if (!parts) return forward(parts);
    for (auto part = parts->rbegin(); part != parts->rend(); ++part) {
      if (auto entry = find_value_in(db, *part, channel)) return entry;
    }
    return std::nullopt;
  });
}

Result<std::vector<Checkpoint>> SqliteRoles::checkpoints(const SessionId& session,
                                                         const CheckpointQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Checkpoint>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto listed = unless_damaged([&] { return list_checkpoints(db, *number, query); });
    return listed ? *std::move(listed) : search_checkpoints(db, *number, query);
  });
}

Result<std::vector<Segment>> SqliteRoles::line(const SessionId& session, Point as_of) {
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

Result<std::optional<Receipt>> SqliteRoles::find_receipt(const SessionId& session,
                                                         const BatchId& batch) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Receipt>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(select_receipt, *number, batch.text());
    if (!rows.next()) return std::nullopt;
    return read_receipt(rows);
  });
}

// The roles that are a few queries each: the ledger, the inbox, blobs.

// The ledger is only read here: calls change in commits.

namespace {

bool is_wanted(const std::vector<CallState>& states, CallState state) {
  return states.empty() || std::ranges::find(states, state) != states.end();
}

bool is_about_open_calls(const CallQuery& query) {
  return !query.states.empty() && std::ranges::all_of(query.states, rules::is_open);
}

// Calls of a session that is being removed, or has not yet arrived, are not listed. One whose
// session is nowhere is: to be found damaged, not to be passed over.
constexpr std::string_view is_not_gone =
    "(s.num IS NOT NULL OR NOT (EXISTS (SELECT 1 FROM garbage g WHERE g.session = c.session) OR "
    "EXISTS (SELECT 1 FROM arriving a WHERE a.num = c.session)))";

// The open calls of a whole store have an index of their own, whose condition is repeated so that
// it is used: there are as many as there are tools running, and calls in doubt.
std::string list_sql(const CallQuery& query) {
  const bool is_open = !query.session && is_about_open_calls(query);
  const std::string which =
      query.session
          ? "c.session = ?1"
          : fmt::format("?1 IS NULL AND {}{}",
                        is_open ? "c.state IN ('intended', 'dispatched', 'in_doubt') AND " : "",
                        is_not_gone);
  return sql(select_listed_call,
             fmt::format("WHERE {} AND (c.session, c.position) > (?2, ?3) ORDER BY c.session, "
                         "c.position",
                         which));
}

struct PagePlace {
  std::optional<std::int64_t> session;  ///< The one that is asked for.
  std::int64_t after = 0;
  Position position = 0;
};

Result<PagePlace> place_of(Connection& db, const CallQuery& query) {
  PagePlace place;
  if (query.session) {
    auto found = require_session(db, *query.session);
    if (!found) return forward(found);
    place.session = *found;
  }
  if (query.after) {
    auto found = require_session(db, query.after->session);
    if (!found) return forward(found);
    place.after = *found;
    place.position = std::min(query.after->position, position_max);
  }
  return place;
}

}  // namespace

Result<Call> SqliteRoles::read(const SessionId& session, Position call) {
  return access_.readers.read([&](Connection& db) -> Result<Call> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(sql(select_call, "WHERE c.session = ? AND c.position = ?"), *number, call);
    if (rows.next()) return read_call(rows);
    const std::string name = call_name(session, call);
    return fail(ErrorCode::not_found, fmt::format("there is no call {}", name), name);
  });
}

Result<std::optional<Call>> SqliteRoles::find_holder(const Digest& key) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Call>> {
    if (Rows claims = db.query(select_claim, key); claims.next()) {
      return read_call(claims);
    }
    if (Rows rows = db.query(sql(select_listed_call, where_holds_key), key); rows.next()) {
      return read_listed_call(rows);
    }
    return std::nullopt;
  });
}

// Of the same age by the clock, a claim, whose session is gone, comes before a call.
Result<std::vector<Call>> SqliteRoles::with_key(const Digest& key) {
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Call>> {
    std::vector<Call> calls;
    const auto add = [&](Rows rows) {
      while (rows.next()) calls.push_back(read_call(rows));
    };
    add(db.query(select_claim, key));
    add(db.query(select_claim, rules::claim_key(key)));
    add(db.query(sql(select_call, "WHERE c.key = ? ORDER BY c.intended_at, c.session, c.position"),
                 key));
    add(db.query(sql(select_call,
                     "WHERE c.claimed = ? AND c.state IN ('dispatched', 'in_doubt', 'succeeded', "
                     "'abandoned') ORDER BY c.intended_at, c.session, c.position"),
                 key));
    std::ranges::stable_sort(calls, {}, &Call::intended_at);
    return calls;
  });
}

Result<std::vector<Call>> SqliteRoles::list(const CallQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Call>> {
    auto place = place_of(db, query);
    if (!place) return forward(place);
    std::vector<Call> calls;
    Rows rows = db.query(list_sql(query), place->session, place->after, place->position);
    while (calls.size() < query.limit && rows.next()) {
      Call call = read_listed_call(rows);
      if (is_wanted(query.states, call.state)) calls.push_back(std::move(call));
    }
    return calls;
  });
}

// The inbox. A consumed message keeps its row, without its body, so that a late second post of it
// is still recognised.

Result<void> SqliteRoles::post(const InboxMessage& message) {
  if (auto checked = rules::check(message); !checked) return checked;
  return access_.writer.write([&](Connection& db) -> Result<void> {
    auto session = require_here(db, message.session);
    if (!session) return forward(session);
    const Timestamp now = access_.clock.now();
    db.run(
        "INSERT OR IGNORE INTO message (session, id, kind, codec, at, consumed, body) "
        "VALUES (?, ?, ?, ?, ?, 0, ?)",
        *session, message.id.text(), message.kind, static_cast<int>(message.body.codec()), now,
        message.body);
    if (db.changes() == 0) return {};
    if (auto there = require_blob(db, message.body); !there) return there;
    db.run("UPDATE session SET revision = revision + 1 WHERE num = ?", *session);
    db.run(
        "UPDATE session SET wake_at = ?1 WHERE num = ?2 AND status = 'waiting' "
        "AND (wake_at IS NULL OR wake_at > ?1)",
        now, *session);
    return {};
  });
}

Result<std::vector<InboxMessage>> SqliteRoles::list(const SessionId& session, std::size_t limit) {
  if (auto checked = rules::check_limit(limit); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<InboxMessage>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(
        "SELECT id, kind, codec, at, body FROM message WHERE session = ? AND consumed = 0 "
        "ORDER BY num LIMIT ?",
        *number, limit);
    std::vector<InboxMessage> messages;
    while (rows.next()) {
      messages.push_back(
          {.session = session,
           .id = stored_id<MessageId>(rows.text(0)),
           .kind = rows.string(1),
           .body = Body::from_stored(static_cast<Codec>(rows.integer(2)), rows.string(4)),
           .at = rows.time(3)});
    }
    return messages;
  });
}

// Blobs: rows of the same file, read in place where only a part is wanted.

namespace {

std::unexpected<Error> missing(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {}", name), name);
}

std::string read_range(Connection& db, std::int64_t number, std::uint64_t offset,
                       std::uint64_t size) {
  BlobReader blob(db, number);
  const std::uint64_t begin = std::min(offset, blob.size());
  return blob.read(begin, std::min(size, blob.size() - begin));
}

}  // namespace

Result<BlobRef> SqliteRoles::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a blob may have {} bytes, this has {}", blob_bytes_max, bytes.size()));
  }
  const BlobRef ref{.digest = sha256(bytes), .size = bytes.size()};
  return access_.writer.write([&](Connection& db) -> Result<BlobRef> {
    const Timestamp now = access_.clock.now();
    if (const auto known = find_blob(db, ref)) {
      db.run("INSERT OR REPLACE INTO staged (blob, at) VALUES (?, ?)", *known, now);
    } else {
      db.run("INSERT INTO blob (hash, size, staged_at, bytes) VALUES (?, ?, ?, ?)", ref.digest,
             ref.size, now, BlobView{bytes});
    }
    return ref;
  });
}

Result<std::string> SqliteRoles::read(const BlobRef& ref, std::uint64_t offset,
                                      std::uint64_t size) {
  return access_.readers.read([&](Connection& db) -> Result<std::string> {
    const auto number = find_blob(db, ref);
    if (!number) return missing(ref);
    return read_range(db, *number, offset, size);
  });
}

}  // namespace perdure::sqlite
