// Reading the ledger over SQLite. Calls change in commits only (calls.hpp).

#include "perdure/store/ledger.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "rules/calls.hpp"
#include "rules/checks.hpp"
#include "rules/retention.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {
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
    "(EXISTS (SELECT 1 FROM session x WHERE x.num = {0}.session) OR NOT (EXISTS (SELECT 1 FROM "
    "garbage g WHERE g.session = {0}.session) OR EXISTS (SELECT 1 FROM arriving a WHERE a.num = "
    "{0}.session)))";

// Open calls have an index of their own, by state: each state is read in the order that is asked
// for, and SQLite merges them. Each part repeats the condition of the index, so that it is used.
std::string open_calls_sql(const CallQuery& query) {
  std::string parts;
  for (const CallState state : std::set(query.states.begin(), query.states.end())) {
    parts += fmt::format(
        "{}SELECT o.session AS session, o.position AS position FROM call o WHERE o.state IN "
        "('intended', 'dispatched', 'in_doubt') AND o.state = '{}' AND (o.session, o.position) > "
        "(?2, ?3) AND {}",
        parts.empty() ? "" : " UNION ALL ", to_string(state), fmt::format(is_not_gone, "o"));
  }
  return sql(select_listed_call,
             fmt::format("JOIN ({} ORDER BY session, position LIMIT ?4) p ON p.session = c.session "
                         "AND p.position = c.position WHERE ?1 IS NULL ORDER BY c.session, "
                         "c.position",
                         parts));
}

std::string list_sql(const CallQuery& query) {
  if (!query.session && is_about_open_calls(query)) return open_calls_sql(query);
  const std::string which =
      query.session ? "c.session = ?1" : "?1 IS NULL AND " + fmt::format(is_not_gone, "c");
  return sql(select_listed_call,
             fmt::format("WHERE {} AND (c.session, c.position) > (?2, ?3) AND ?4 > 0 ORDER BY "
                         "c.session, c.position",
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
    if (Rows claims = db.query(select_claim, blob_view(key)); claims.next()) {
      return read_call(claims);
    }
    if (Rows rows = db.query(sql(select_listed_call, where_holds_key), blob_view(key));
        rows.next()) {
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
    add(db.query(select_claim, blob_view(key)));
    add(db.query(select_claim, blob_view(rules::claim_key(key))));
    add(db.query(sql(select_call, "WHERE c.key = ? ORDER BY c.intended_at, c.session, c.position"),
                 blob_view(key)));
    add(db.query(sql(select_call,
                     "WHERE c.claimed = ? AND c.state IN ('dispatched', 'in_doubt', 'succeeded', "
                     "'abandoned') ORDER BY c.intended_at, c.session, c.position"),
                 blob_view(key)));
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
    Rows rows =
        db.query(list_sql(query), place->session, place->after, place->position, query.limit);
    while (calls.size() < query.limit && rows.next()) {
      Call call = read_listed_call(rows);
      if (is_wanted(query.states, call.state)) calls.push_back(std::move(call));
    }
    return calls;
  });
}

}  // namespace perdure::sqlite
