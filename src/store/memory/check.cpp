// A check of plain tables: no file can be damaged here, so a finding is a bug of ours.
// What it looks at is what the tables keep twice.

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "memory/roles.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/check_run.hpp"
#include "rules/followed.hpp"
#include "rules/soundness.hpp"

namespace perdure::memory {

namespace {

void check_entry(const State& state, const std::optional<SessionId>& session, const Entry& entry,
                 rules::Findings& found) {
  ++found.report.entries;
  found.report.bytes += entry.body.bytes().size();
  const auto add = [&](Fault fault, std::string_view what) {
    found.add(
        {.fault = fault,
         .session = session,
         .first = entry.position,
         .last = entry.position,
         .what = fmt::format("position {} of {} {}", entry.position,
                             session ? "session " + session->text() : "a removed session", what)});
  };
  if (entry.condition == Condition::erased) return;
  if (sha256(entry.body.bytes()) != entry.hash) {
    add(Fault::chain, "has a body that does not match its hash");
  }
  const auto ref = entry.body.blob();
  if (ref && !state.blobs.contains(ref->digest)) {
    add(Fault::reference, "names a blob that is not there");
  }
}

void check_calls(const SessionTable& session, rules::Findings& found) {
  std::int64_t in_doubt = 0;
  for (const auto& [position, call] : session.calls) {
    ++found.report.calls;
    if (call.state == CallState::in_doubt) ++in_doubt;
    const std::string why = rules::find_contradiction(call);
    if (why.empty()) continue;
    found.add(
        {.fault = Fault::ledger,
         .session = session.row.id,
         .first = position,
         .last = position,
         .what = fmt::format("call {} cannot be: {}", call_name(session.row.id, position), why)});
  }
  if (in_doubt == session.row.attention) return;
  found.add(Fault::summary, session.row.id,
            fmt::format("the session's row says {} calls are in doubt, and {} are",
                        session.row.attention, in_doubt));
}

void check_session(const State& state, const SessionTable& session, rules::Findings& found) {
  ++found.report.sessions;
  found.report.commits += session.receipts.size();
  for (const SegmentId segment : session.segments) {
    for (const EntryRow& row : state.segments.at(segment).entries) {
      check_entry(state, session.row.id, row.entry, found);
    }
  }
  check_calls(session, found);
}

// What is left of removed sessions is what forks share of them.
void check_shared(const State& state, rules::Findings& found) {
  for (const auto& [number, table] : state.segments) {
    if (!table.segment.session.empty()) continue;
    for (const EntryRow& row : table.entries) check_entry(state, {}, row.entry, found);
  }
}

void check_blobs(const State& state, rules::Findings& found) {
  for (const auto& [name, row] : state.blobs) {
    ++found.report.blobs;
    found.report.bytes += row.bytes.size();
    if (sha256(row.bytes) == name) continue;
    found.add(Fault::chain, {}, fmt::format("blob {} does not match its name", to_hex(name)));
  }
}

}  // namespace

// The callback is called before and after, not in between: the tables are locked then.
Result<CheckReport> MemoryStore::check(const Progress& progress) {
  rules::Findings found;
  Step step{.done = 0, .total = 1};
  auto told = rules::goes_on(progress, step);
  if (!told) return forward(told);
  if (!*told) {
    found.report.is_complete = false;
    return found.finish();
  }
  auto looked = base_.state.with([&](State& state) -> Result<void> {
    for (const auto& [id, session] : state.sessions) check_session(state, session, found);
    check_shared(state, found);
    check_blobs(state, found);
    return {};
  });
  if (!looked) return forward(looked);
  step.done = 1;
  if (told = rules::goes_on(progress, step); !told) return forward(told);
  return found.finish();
}

}  // namespace perdure::memory
