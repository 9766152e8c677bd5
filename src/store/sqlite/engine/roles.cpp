// The roles that are a few queries each: the ledger, the inbox, blobs.

#include "sqlite/engine/roles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
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
#include "rules/retention.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {

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
