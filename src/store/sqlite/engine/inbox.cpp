// The inbox over SQLite. A consumed message keeps its row, without its body, so
// that a late second post of it is still recognised.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "rules/checks.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {
namespace {

template <class BodyValue>
void insert(Connection& db, std::int64_t session, const NewInboxMessage& message, Timestamp at,
            BodyValue body) {
  db.run(
      "INSERT OR IGNORE INTO message (session, id, kind, codec, at, consumed, body) "
      "VALUES (?, ?, ?, ?, ?, 0, ?)",
      session, message.id.text(), message.kind, static_cast<int>(message.body.codec()), at, body);
}

}  // namespace

Result<void> SqliteRoles::post(const NewInboxMessage& message) {
  if (auto checked = rules::check(message); !checked) return checked;
  return access_.writer.write([&](Connection& db) -> Result<void> {
    auto session = require_here(db, message.session);
    if (!session) return forward(session);
    const Timestamp now = access_.clock.now();
    const std::string_view bytes = message.body.bytes();
    if (message.body.codec() == Codec::bytes) {
      insert(db, *session, message, now, BlobView{bytes});
    } else {
      insert(db, *session, message, now, bytes);
    }
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

}  // namespace perdure::sqlite
