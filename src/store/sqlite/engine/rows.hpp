// Between rows and the values of the public headers. What other backends keep alike is in
// rules/stored_rows.hpp.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/stored_rows.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {

using rules::read_call;
using rules::read_checkpoint;
using rules::read_receipt;
using rules::read_tally;
using rules::stored_id;
using rules::tags_text;
using rules::unless_zero;

/// Who holds a session or a resource: eight columns from `column` on, num, id, host, pid, boot and
/// until of its worker, then fence and since. Empty if there is no worker.
[[nodiscard]] std::optional<Holder> read_holder(const Rows& rows, int column,
                                                const Workers& workers);

/// Completed with FROM's tail: a WHERE clause over `s`.
inline constexpr std::string_view select_session =
    "SELECT s.id, s.title, s.opening, s.tags, s.metadata, s.status, s.wait_reason, s.wake_at, "
    "s.parent, s.parent_position, s.lineage, s.head, s.next, s.version, s.turns, s.steps, "
    "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.restored, s.revision, s.created_at, "
    "s.updated_at, w.num, w.id, w.host, w.pid, w.boot, w.until, s.fence, s.owned_since, s.moved "
    "FROM session s LEFT JOIN worker w ON w.num = s.owner ";
/// The same columns without the worker, as if it had no owner; not yet a whole statement.
inline constexpr std::string_view select_session_columns =
    "SELECT id, title, opening, tags, metadata, status, wait_reason, wake_at, parent, "
    "parent_position, lineage, head, next, version, turns, steps, tokens_in, tokens_out, "
    "cost_micros, attention, restored, revision, created_at, updated_at, NULL, NULL, NULL, NULL, "
    "NULL, NULL, fence, owned_since, moved ";
[[nodiscard]] SessionSummary read_session(const Rows& rows, const Workers& workers);

/// Checks the body against its hash.
inline constexpr std::string_view select_entry =
    "SELECT id, channel, kind, fold, codec, at, turns, steps, tokens_in, tokens_out, cost_micros, "
    "hash, body FROM entry ";
[[nodiscard]] Entry read_entry(const Rows& rows);

inline constexpr std::string_view select_checkpoint =
    "SELECT version, position, at, reason, label, metadata, turns, steps, tokens_in, tokens_out, "
    "cost_micros FROM checkpoint ";

inline constexpr std::string_view select_call =
    "SELECT s.id, c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state, "
    "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, c.settled_at, "
    "c.who, c.why, c.claimed FROM call c JOIN session s ON s.num = c.session ";

/// The same, also of a call whose session has no row. Such a session is being removed or has not
/// yet arrived (select_claim), or its row is damaged: then readers that need it must not skip it.
inline constexpr std::string_view select_listed_call =
    "SELECT s.id, c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state, "
    "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, c.settled_at, "
    "c.who, c.why, c.claimed FROM call c LEFT JOIN session s ON s.num = c.session ";
/// Throws if the session has no row.
[[nodiscard]] Call read_listed_call(const Rows& rows);

/// The one call that holds the key though its session is not there: removed, its claim made or not
/// yet, or still arriving from another store.
inline constexpr std::string_view select_claim =
    "SELECT session, position, 0, NULL, tool, '', effect, key, state, attempts, failures, fence, "
    "intended_at, dispatched_at, NULL, settled_at, '', '', claimed FROM claim WHERE key = ?1 "
    "UNION ALL SELECT g.id, c.position, 0, NULL, c.tool, '', c.effect, c.key, c.state, c.attempts, "
    "c.failures, c.fence, c.intended_at, c.dispatched_at, NULL, c.settled_at, '', '', NULL "
    "FROM call c JOIN (SELECT session, id FROM garbage WHERE id <> '' UNION ALL SELECT num, id "
    "FROM arriving) g ON g.session = c.session WHERE c.key = ?1 "
    "AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')";

inline constexpr std::string_view select_receipt =
    "SELECT batch, first, count, head, version, at, chain FROM receipt "
    "WHERE session = ? AND batch = ?";

/// The number of its row.
[[nodiscard]] std::optional<std::int64_t> find_blob(Connection& db, const BlobRef& ref);

/// Fails: `invalid_argument` if the body refers to a blob that is not there.
[[nodiscard]] Result<void> require_blob(Connection& db, const Body& body);

/// The next number of a counter in `meta`: sessions, segments or workers. None is given twice, also
/// after what it named is gone.
[[nodiscard]] std::int64_t next_number(Connection& db, std::string_view counter);

/// `select` and `tail` as one statement.
[[nodiscard]] std::string sql(std::string_view select, std::string_view tail);

}  // namespace perdure::sqlite
