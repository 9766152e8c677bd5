// Between rows and the values of the public headers.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/workers.hpp"

namespace perdure::sqlite {

/// An id that was checked when it was written.
template <class IdType>
[[nodiscard]] IdType stored_id(std::string_view text) {
  return IdType::parse(std::string(text)).value_or(IdType{});
}

/// Five columns from `column` on: turns, steps, tokens in and out, cost.
[[nodiscard]] Tally read_tally(const Rows& rows, int column);

/// Completed with FROM's tail: a WHERE clause over `s`.
inline constexpr std::string_view select_session =
    "SELECT s.id, s.title, s.opening, s.tags, s.metadata, s.status, s.wait_reason, s.wake_at, "
    "s.parent, s.parent_position, s.lineage, s.head, s.next, s.version, s.turns, s.steps, "
    "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.revision, s.created_at, "
    "s.updated_at, s.fence, s.owned_since, w.num, w.id, w.host, w.pid, w.boot, w.until, s.restored "
    "FROM session s LEFT JOIN worker w ON w.num = s.owner ";
/// The same without the worker, as if nobody owned it.
inline constexpr std::string_view select_session_alone =
    "SELECT id, title, opening, tags, metadata, status, wait_reason, wake_at, parent, "
    "parent_position, lineage, head, next, version, turns, steps, tokens_in, tokens_out, "
    "cost_micros, attention, revision, created_at, updated_at, fence, owned_since, NULL, NULL, "
    "NULL, NULL, NULL, NULL, restored FROM session s ";
[[nodiscard]] SessionSummary read_session(const Rows& rows, const Workers& workers);

/// Checks the body against its hash.
inline constexpr std::string_view select_entry =
    "SELECT id, channel, kind, fold, codec, at, turns, steps, tokens_in, tokens_out, cost_micros, "
    "hash, body FROM entry ";
[[nodiscard]] Entry read_entry(const Rows& rows);

inline constexpr std::string_view select_checkpoint =
    "SELECT version, position, at, reason, label, metadata, turns, steps, tokens_in, tokens_out, "
    "cost_micros FROM checkpoint ";
[[nodiscard]] Checkpoint read_checkpoint(const Rows& rows);

inline constexpr std::string_view select_call =
    "SELECT s.id, c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state, "
    "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, c.settled_at, "
    "c.who, c.why FROM call c JOIN session s ON s.num = c.session ";
[[nodiscard]] Call read_call(const Rows& rows);

/// The one call of a removed session that holds the key: as a claim, or not yet made one.
inline constexpr std::string_view select_claim =
    "SELECT session, position, 0, NULL, tool, '', effect, key, state, attempts, failures, fence, "
    "intended_at, dispatched_at, NULL, settled_at, '', '' FROM claim WHERE key = ?1 "
    "UNION ALL SELECT g.id, c.position, 0, NULL, c.tool, '', c.effect, c.key, c.state, c.attempts, "
    "c.failures, c.fence, c.intended_at, c.dispatched_at, NULL, c.settled_at, '', '' "
    "FROM call c JOIN garbage g ON g.session = c.session "
    "WHERE c.key = ?1 AND c.state IN ('succeeded', 'abandoned')";

inline constexpr std::string_view select_receipt =
    "SELECT batch, first, count, head, version, at, chain FROM receipt "
    "WHERE session = ? AND batch = ?";
[[nodiscard]] Receipt read_receipt(const Rows& rows);

[[nodiscard]] std::string tags_text(const std::vector<std::string>& tags);

/// Fails: `invalid_argument` if the body refers to a blob that is not there.
[[nodiscard]] Result<void> require_blob(Connection& db, const Body& body);

/// The next number of a counter in `meta`: sessions, segments or workers. None is given twice, also
/// after what it named is gone.
[[nodiscard]] std::int64_t next_number(Connection& db, std::string_view counter);

/// `select` and `tail` as one statement.
[[nodiscard]] std::string sql(std::string_view select, std::string_view tail);

}  // namespace perdure::sqlite
