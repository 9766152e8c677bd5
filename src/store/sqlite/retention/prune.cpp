// Names first, then entries: what a name keeps can only be told once it is gone.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/retention/garbage.hpp"

namespace perdure::sqlite {
namespace {

/// What does not change for the worse while others write: newer versions are kept
/// whatever their number, and newer segments have no past.
struct Plan {
  std::int64_t session = 0;
  Version newest_from = 0;
  Position last = 0;  ///< What comes after it is not looked at, or a busy session has no end.
  std::vector<SegmentId> segments{};
};

Version newest_from(Connection& db, std::int64_t session, std::uint64_t last) {
  constexpr std::uint64_t many = std::numeric_limits<std::int64_t>::max();
  if (last == 0) {
    Rows rows = db.query("SELECT version + 1 FROM session WHERE num = ?", session);
    return rows.next() ? rows.number(0) : 0;
  }
  Rows rows = db.query(
      "SELECT version FROM checkpoint WHERE session = ? ORDER BY version DESC LIMIT 1 OFFSET ?",
      session, std::min(last - 1, many));
  return rows.next() ? rows.number(0) : 0;
}

Position last_position(Connection& db, std::int64_t session) {
  Rows rows = db.query("SELECT next - 1 FROM session WHERE num = ?", session);
  return rows.next() ? rows.number(0) : 0;
}

Result<Plan> make_plan(Connection& db, const SessionId& id, const Keep& keep) {
  auto session = require_session(db, id);
  if (!session) return forward(session);
  Plan plan{.session = *session,
            .newest_from = newest_from(db, *session, keep.last),
            .last = last_position(db, *session)};
  Rows rows = db.query("SELECT num FROM segment WHERE session = ? ORDER BY num", *session);
  while (rows.next()) plan.segments.push_back(rows.number(0));
  return plan;
}

std::uint64_t count_versions(Connection& db, const Plan& plan) {
  Rows rows = db.query("SELECT count(*) FROM checkpoint WHERE session = ? AND version < ?",
                       plan.session, plan.newest_from);
  return rows.next() ? rows.number(0) : 0;
}

// Returns how many.
Result<std::uint64_t> remove_names(Slices& slices, const Plan& plan, const Keep& keep) {
  Version last = 0;
  std::uint64_t removed = 0;
  auto done = slices.run([&](Connection& db) -> Result<bool> {
    std::vector<Version> unwanted;
    int seen = 0;
    {
      Rows rows = db.query(
          "SELECT version, at, label FROM checkpoint WHERE session = ? AND version > ? "
          "AND version < ? ORDER BY version LIMIT ?",
          plan.session, last, plan.newest_from, slice_rows);
      for (; rows.next(); ++seen) {
        Checkpoint checkpoint;
        checkpoint.version = rows.number(0);
        checkpoint.at = rows.time(1);
        checkpoint.label = rows.string(2);
        last = checkpoint.version;
        if (!rules::keeps(keep, plan.newest_from, checkpoint)) unwanted.push_back(last);
      }
    }
    for (const Version version : unwanted) {
      db.run("DELETE FROM checkpoint WHERE session = ? AND version = ?", plan.session, version);
    }
    removed += unwanted.size();
    slices.step.done += static_cast<std::uint64_t>(seen);
    return seen == slice_rows;
  });
  if (!done) return forward(done);
  return removed;
}

}  // namespace

Result<Pruned> SqliteRoles::prune(const SessionId& session, const Keep& keep,
                                  const Progress& progress) {
  Slices slices(access_.writer, progress);
  auto plan = access_.readers.read([&](Connection& db) -> Result<Plan> {
    auto made = make_plan(db, session, keep);
    if (made) slices.step.total = count_versions(db, *made) + made->segments.size();
    return made;
  });
  if (!plan) return forward(plan);

  auto removed = remove_names(slices, *plan, keep);
  if (!removed) return forward(removed);
  Pruned done{.versions = *removed};
  for (const SegmentId segment : plan->segments) {
    Sweep sweep{.segment = segment, .to = plan->last};
    auto swept = slices.run_counted([&](Connection& db) { return sweep_slice(db, sweep); });
    if (!swept) return forward(swept);
    done.entries += sweep.freed.items;
    done.bytes += sweep.freed.bytes;
  }
  return slices.finish(done);
}

Result<Pruned> SqliteRoles::forget(const SessionId& session, Version version) {
  Sweep sweep;
  auto named = access_.writer.write([&](Connection& db) -> Result<void> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto place = resolve(db, *number, Point::version(version));
    if (!place) return forward(place);
    const OwnedSegment owned{.segment = place->segment, .session = *number};
    sweep.segment = place->segment;
    sweep.from = kept_before(db, owned, version, place->position) + 1;
    sweep.to = place->position;
    db.run("DELETE FROM checkpoint WHERE session = ? AND version = ?", *number, version);
    return {};
  });
  if (!named) return forward(named);
  const Progress none;
  Slices slices(access_.writer, none);
  auto swept = slices.run([&](Connection& db) -> Result<bool> { return sweep_slice(db, sweep); });
  if (!swept) return forward(swept);
  return slices.finish(
      Pruned{.versions = 1, .entries = sweep.freed.items, .bytes = sweep.freed.bytes});
}

}  // namespace perdure::sqlite
