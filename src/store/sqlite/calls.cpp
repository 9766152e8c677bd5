// All writers of a store take turns, so looking for a key's holder and taking the
// key in the same transaction is one atomic claim.

#include "sqlite/calls.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "rules/calls.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

std::optional<Call> find_call(Connection& db, std::int64_t session, Position position) {
  Rows rows =
      db.query(sql(select_call, "WHERE c.session = ? AND c.position = ?"), session, position);
  if (!rows.next()) return std::nullopt;
  return read_call(rows);
}

Result<Call> require_call(Connection& db, const CallScope& scope, Position position) {
  if (auto call = find_call(db, scope.session, position)) return *std::move(call);
  return fail(ErrorCode::conflict,
              fmt::format("there is no call {}", call_name(scope.id, position)),
              call_name(scope.id, position));
}

std::unexpected<Error> held(const Call& call, const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("the key of call {} is held by call {}, which is {}",
                          call_name(call.session, call.position), name, to_string(holder.state)),
              name);
}

Result<void> check_key_free(Connection& db, const Call& call) {
  if (!call.key) return {};
  // Never the call itself, whatever its name: that session is gone.
  if (Rows claims = db.query(select_claim, blob_view(*call.key)); claims.next()) {
    return held(call, read_call(claims));
  }
  Rows rows = db.query(sql(select_listed_call, where_holds_key), blob_view(*call.key));
  while (rows.next()) {
    const Call other = read_listed_call(rows);
    const bool same = other.session == call.session && other.position == call.position;
    if (!same && rules::holds_key(other.state)) return held(call, other);
  }
  return {};
}

Result<void> check_on_line(Connection& db, const CallScope& scope, Position position,
                           std::string_view what) {
  const auto holds = [&](const Part& part) {
    return position >= part.first && position <= part.last &&
           entry_exists(db, {part.segment, position});
  };
  // Most positions are in the batch itself, and need no look at the line before it.
  if (position >= scope.first && position <= scope.head) return {};
  if (std::ranges::any_of(line_to(db, {scope.segment, scope.head}), holds)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("the {} of a call cannot be at position {}: the line to {} has no such "
                          "entry",
                          what, position, scope.head));
}

std::optional<BlobView> key_view(const Call& call) {
  if (!call.key) return std::nullopt;
  return blob_view(*call.key);
}

void insert_call(Connection& db, const CallScope& scope, const Call& call) {
  db.run(
      "INSERT INTO call (session, position, args, result, tool, provider_id, effect, key, state, "
      "attempts, failures, fence, segment, intended_at, who, why) "
      "VALUES (?, ?, ?, NULL, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, '', '')",
      scope.session, call.position, call.args, call.tool, call.provider_id, to_string(call.effect),
      key_view(call), to_string(call.state), scope.segment, call.intended_at);
}

void update_call(Connection& db, const CallScope& scope, const Call& call) {
  db.run(
      "UPDATE call SET result = ?, state = ?, attempts = ?, failures = ?, fence = ?, "
      "dispatched_at = ?, deadline = ?, settled_at = ?, who = ?, why = ? "
      "WHERE session = ? AND position = ?",
      call.result, to_string(call.state), call.attempts, call.failures, call.fence,
      call.dispatched_at, call.deadline, call.settled_at, call.who, call.why, scope.session,
      call.position);
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Intend& intent) {
  if (intent.call < scope.first || intent.call > scope.head) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the intent of a call must be an entry of its batch; {} is not", intent.call));
  }
  if (auto args = check_on_line(db, scope, intent.args, "arguments"); !args) return forward(args);
  if (find_call(db, scope.session, intent.call)) {
    const std::string name = call_name(scope.id, intent.call);
    return fail(ErrorCode::already_exists, fmt::format("call {} is written down twice", name),
                name);
  }
  insert_call(db, scope, rules::intended(scope.id, intent, scope.at));
  return 0;
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Dispatch& change) {
  auto call = require_call(db, scope, change.call);
  if (!call) return forward(call);
  const bool was_in_doubt = call->state == CallState::in_doubt;
  const bool was_claimed = call->claimed.has_value();
  if (auto moved = rules::dispatch(*call, change, scope.fence, scope.at); !moved) {
    return forward(moved);
  }
  if (auto free = check_key_free(db, *call); !free) return forward(free);
  update_call(db, scope, *call);
  if (was_claimed) {
    db.run("UPDATE call SET key = claimed, claimed = NULL WHERE session = ? AND position = ?",
           scope.session, call->position);
  }
  return was_in_doubt ? -1 : 0;
}

Result<std::int64_t> apply(Connection& db, const CallScope& scope, const Settle& change) {
  auto call = require_call(db, scope, change.call);
  if (!call) return forward(call);
  const bool was_in_doubt = call->state == CallState::in_doubt;
  if (auto moved = rules::settle(*call, change, scope.at); !moved) return forward(moved);
  if (change.result) {
    auto result = check_on_line(db, scope, *change.result, "result");
    if (!result) return forward(result);
  }
  update_call(db, scope, *call);
  return (call->state == CallState::in_doubt ? 1 : 0) - (was_in_doubt ? 1 : 0);
}

}  // namespace

Result<std::int64_t> apply_calls(Connection& db, const CallScope& scope,
                                 const std::vector<CallChange>& changes) {
  std::int64_t attention = 0;
  for (const CallChange& change : changes) {
    auto difference = std::visit([&](const auto& step) { return apply(db, scope, step); }, change);
    if (!difference) return difference;
    attention += *difference;
  }
  return attention;
}

}  // namespace perdure::sqlite
