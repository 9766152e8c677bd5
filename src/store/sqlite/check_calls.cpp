// The ledger against the log: a call's intent, arguments and result are entries, and
// its row says what the commit that wrote it down says.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "perdure/store/check.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "rules/soundness.hpp"
#include "sqlite/check_facts.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

// The columns that read_call() does not read come after those it does.
constexpr std::string_view select_stored_call =
    "SELECT ?4, position, args, result, tool, provider_id, effect, key, state, attempts, failures, "
    "fence, intended_at, dispatched_at, deadline, settled_at, who, why, segment FROM call "
    "WHERE session = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position";

struct StoredCall {
  Call call;
  SegmentId segment = 0;
  bool has_known_words = true;
};

StoredCall read_stored_call(const Rows& rows) {
  return {.call = read_call(rows),
          .segment = rows.number(18),
          .has_known_words = effect_class_from(rows.text(6)) && call_state_from(rows.text(8)) &&
                             (rows.is_null(7) || rows.text(7).size() == sizeof(Digest))};
}

bool is_on_line(Connection& db, Place place, Position position) {
  const auto parts = line_to(db, place);
  const auto part = std::ranges::find_if(parts, [position](const Part& candidate) {
    return position >= candidate.first && position <= candidate.last;
  });
  return part != parts.end() && is_accounted_for(db, {part->segment, position});
}

// A result is an entry of the session's own, on whichever line was active then.
bool is_result_there(Connection& db, const Summary& session, const Call& call) {
  Rows rows = db.query(
      "SELECT num FROM segment WHERE session = ? AND first <= ? ORDER BY first DESC, num DESC "
      "LIMIT 1",
      session.number, *call.result);
  if (rows.next()) return is_accounted_for(db, {rows.number(0), *call.result});
  return *call.result < call.position;
}

std::string find_fault(const CommitOfCalls& commit, const StoredCall& stored) {
  const Call& call = stored.call;
  if (!stored.has_known_words) return "has a state, an effect class or a key that no call has";
  if (const auto why = rules::find_contradiction(call); !why.empty()) return "cannot be: " + why;
  if (stored.segment != commit.segment) {
    return fmt::format("says segment {}, and its intent is on segment {}", stored.segment,
                       commit.segment);
  }
  if (call.intended_at != commit.at) return "was not intended when its commit was made";
  return {};
}

std::string find_missing(Connection& db, const Summary& session, const CommitOfCalls& commit,
                         const StoredCall& stored) {
  const Call& call = stored.call;
  if (!is_accounted_for(db, {commit.segment, call.position})) return "has no intent in the log";
  // Arguments may come after the intent, within its commit.
  if (!is_on_line(db, {commit.segment, commit.last}, call.args)) {
    return fmt::format("has its arguments at position {}, where no entry is", call.args);
  }
  if (call.result && !is_result_there(db, session, call)) {
    return fmt::format("has its result at position {}, where no entry is", *call.result);
  }
  return {};
}

}  // namespace

std::uint64_t check_calls(CheckRun& run, const Summary& session, const CommitOfCalls& commit,
                          std::int64_t& in_doubt) {
  std::uint64_t calls = 0;
  Rows rows = run.db.query(select_stored_call, session.number, commit.first, commit.last,
                           session.id.text());
  while (rows.next()) {
    const StoredCall stored = read_stored_call(rows);
    const Position at = stored.call.position;
    ++calls;
    if (stored.call.state == CallState::in_doubt) ++in_doubt;
    const auto add = [&](Fault fault, const std::string& what) {
      if (what.empty()) return;
      run.found.add({.fault = fault,
                     .session = session.id,
                     .first = at,
                     .last = at,
                     .what = fmt::format("call {} {}", call_name(session.id, at), what)});
    };
    add(Fault::ledger, find_fault(commit, stored));
    add(Fault::reference, find_missing(run.db, session, commit, stored));
  }
  run.report().calls += calls;
  return calls;
}

}  // namespace perdure::sqlite
