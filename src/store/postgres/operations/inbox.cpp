// The inbox over PostgreSQL.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/checks.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {

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

}  // namespace perdure::postgres
