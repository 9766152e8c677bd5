// Reading the ledger over PostgreSQL. Calls change in commits only (sql/calls.sql).

#include "perdure/store/ledger.hpp"

#include <algorithm>
#include <cstdint>
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
#include "perdure/store/log.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"
#include "rules/retention.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
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

}  // namespace perdure::postgres
