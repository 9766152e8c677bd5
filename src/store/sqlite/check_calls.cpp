// The ledger against the log: a call's intent, arguments and result are entries.

#include <algorithm>
#include <functional>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/check_facts.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

// The columns that read_call() does not read come after those it does.
constexpr std::string_view select_stored_call =
    "SELECT ?4, position, args, result, tool, provider_id, effect, key, state, attempts, failures, "
    "fence, intended_at, dispatched_at, deadline, settled_at, who, why, claimed, segment FROM call "
    "WHERE session = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position";

rules::StoredCall read_stored_call(const Rows& rows) {
  rules::StoredCall stored;
  stored.call = read_call(rows);
  stored.segment = rows.number(19);
  stored.has_known_words = effect_class_from(rows.text(6)) && call_state_from(rows.text(8)) &&
                           (rows.is_null(7) || rows.text(7).size() == sizeof(Digest));
  return stored;
}

bool is_on_line(Connection& db, Place place, Position position) {
  const auto parts = line_to(db, place);
  const auto part = std::ranges::find_if(parts, [position](const Part& candidate) {
    return position >= candidate.first && position <= candidate.last;
  });
  return part != parts.end() && is_accounted_for(db, {part->segment, position});
}

// A result is an entry of the session's own, on whichever line was active then.
bool is_result_there(Connection& db, const rules::StoredSummary& session, const Call& call) {
  Rows rows = db.query(
      "SELECT num FROM segment WHERE session = ? AND first <= ? ORDER BY first DESC, num DESC "
      "LIMIT 1",
      session.number, *call.result);
  if (rows.next()) return is_accounted_for(db, {rows.number(0), *call.result});
  return *call.result < call.position;
}

}  // namespace

void visit_calls(Connection& db, const rules::StoredSummary& session,
                 const rules::StoredCommit& commit,
                 const std::function<void(const rules::StoredCall&)>& visit) {
  Rows rows =
      db.query(select_stored_call, session.number, commit.first, commit.last(), session.id.text());
  while (rows.next()) {
    rules::StoredCall stored = read_stored_call(rows);
    const Call& call = stored.call;
    stored.has_intent = is_accounted_for(db, {commit.segment, call.position});
    // Arguments may come after the intent, within its commit.
    stored.has_args = is_on_line(db, {commit.segment, commit.last()}, call.args);
    stored.has_result = !call.result || is_result_there(db, session, call);
    visit(stored);
  }
}

}  // namespace perdure::sqlite
