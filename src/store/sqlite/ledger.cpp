// Reading the ledger over SQLite. Calls change in commits only (calls.hpp).

#include "perdure/store/ledger.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/entry.hpp"
#include "rules/checks.hpp"
#include "rules/retention.hpp"
#include "sqlite/calls.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/roles.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

std::vector<Call> calls_by_key(Connection& db, const Digest& key) {
  Rows rows =
      db.query(sql(select_call, "WHERE c.key = ? ORDER BY c.intended_at, c.session, c.position"),
               blob_view(key));
  std::vector<Call> calls;
  while (rows.next()) calls.push_back(read_call(rows));
  // At most one: a key has one holder.
  if (Rows claims = db.query(select_claim, blob_view(key)); claims.next()) {
    Call claim = read_call(claims);
    const auto place = std::ranges::lower_bound(calls, claim.intended_at, {}, &Call::intended_at);
    calls.insert(place, std::move(claim));
  }
  return calls;
}

bool is_wanted(const std::vector<CallState>& states, CallState state) {
  return states.empty() || std::ranges::find(states, state) != states.end();
}

// Open calls have an index of their own: over all sessions they are found without
// reading those that are settled.
std::string list_sql(const CallQuery& query) {
  const bool only_open = !query.states.empty() && std::ranges::all_of(query.states, rules::is_open);
  return sql(select_call,
             fmt::format("WHERE {} {} ORDER BY c.session, c.position",
                         query.session ? "c.session = ?" : "? IS NULL",
                         only_open ? "AND c.state IN ('intended', 'dispatched', 'in_doubt')" : ""));
}

}  // namespace

Result<Call> SqliteLedger::read(const SessionId& session, Position call) {
  return access_.readers.read([&](Connection& db) -> Result<Call> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(sql(select_call, "WHERE c.session = ? AND c.position = ?"), *number, call);
    if (rows.next()) return read_call(rows);
    const std::string name = call_name(session, call);
    return fail(ErrorCode::not_found, fmt::format("there is no call {}", name), name);
  });
}

Result<std::optional<Call>> SqliteLedger::find_holder(const Digest& key) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Call>> {
    if (Rows rows = db.query(sql(select_call, where_holds_key), blob_view(key)); rows.next()) {
      return read_call(rows);
    }
    if (Rows claims = db.query(select_claim, blob_view(key)); claims.next()) {
      return read_call(claims);
    }
    return std::nullopt;
  });
}

Result<std::vector<Call>> SqliteLedger::by_key(const Digest& key) {
  return access_.readers.read(
      [&](Connection& db) -> Result<std::vector<Call>> { return calls_by_key(db, key); });
}

Result<std::vector<Call>> SqliteLedger::list(const CallQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Call>> {
    std::optional<std::int64_t> number;
    if (query.session) {
      auto found = require_session(db, *query.session);
      if (!found) return forward(found);
      number = *found;
    }
    std::vector<Call> calls;
    Rows rows = db.query(list_sql(query), number);
    while (calls.size() < query.limit && rows.next()) {
      Call call = read_call(rows);
      if (is_wanted(query.states, call.state)) calls.push_back(std::move(call));
    }
    return calls;
  });
}

}  // namespace perdure::sqlite
