// Names first, then entries: what a name keeps can only be told once it is gone. The work is done
// by functions of the server (sql/prune.sql); here is the loop over slices.

#include <cstdint>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/slices.hpp"

namespace perdure::postgres {
namespace {

struct Plan {
  std::int64_t session = 0;
  std::int64_t newest_from = 0;
  std::int64_t last = 0;  ///< What comes after it is not looked at, or a busy session has no end.
  std::uint64_t versions = 0;
  std::vector<std::int64_t> segments{};
};

Result<Plan> make_plan(const Access& access, const SessionId& session, const Keep& keep) {
  return access.client.read([&](Connection& db) -> Result<Plan> {
    Rows rows = db.query("SELECT * FROM perdure.prune_plan($1, $2)",
                         Params::of(session.text(), sendable(keep.last)));
    Plan plan;
    while (rows.next()) {
      plan.session = rows.integer(0);
      plan.newest_from = rows.integer(1);
      plan.last = rows.integer(2);
      plan.versions = rows.number(3);
      plan.segments.push_back(rows.integer(4));
    }
    return plan;
  });
}

/// Where a sweep is, and what it did so far.
struct Sweep {
  std::int64_t segment = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;  ///< Inclusive.
};

Result<bool> sweep_slice(const Access& access, Sweep& sweep, Pruned& pruned) {
  auto swept =
      access.write("SELECT * FROM perdure.sweep_slice($1, $2, $3, $4, $5)",
                   Params::of(sweep.segment, sweep.from, sweep.to, slice_rows, slice_bytes));
  if (!swept) return forward(swept);
  if (!swept->next()) return false;
  sweep.from = swept->integer(0);
  pruned.entries += swept->number(1);
  pruned.bytes += swept->number(2);
  return swept->boolean(3);
}

Result<void> remove_names(const Access& access, const Plan& plan, const Keep& keep, Slices& slices,
                          Pruned& pruned) {
  std::int64_t last = 0;
  return slices.run([&]() -> Result<bool> {
    auto removed = access.write("SELECT * FROM perdure.remove_versions($1, $2, $3, $4, $5, $6, $7)",
                                Params::of(plan.session, last, plan.newest_from, keep.since,
                                           sendable(keep.every), keep.labelled, slice_rows));
    if (!removed) return forward(removed);
    if (!removed->next()) return false;
    last = removed->integer(0);
    slices.step.done += removed->number(1);
    pruned.versions += removed->number(2);
    return removed->integer(1) == slice_rows;
  });
}

}  // namespace

Result<Pruned> PostgresRoles::prune(const SessionId& session, const Keep& keep,
                                    const Progress& progress) {
  auto plan = make_plan(access_, session, keep);
  if (!plan) return forward(plan);
  Slices slices(progress);
  slices.step.total = plan->versions + plan->segments.size();
  Pruned pruned;
  if (auto named = remove_names(access_, *plan, keep, slices, pruned); !named) {
    return forward(named);
  }
  for (const std::int64_t segment : plan->segments) {
    Sweep sweep{.segment = segment, .from = 0, .to = plan->last};
    auto swept = slices.run([&]() -> Result<bool> {
      auto more = sweep_slice(access_, sweep, pruned);
      ++slices.step.done;
      if (more && *more) ++slices.step.total;
      return more;
    });
    if (!swept) return forward(swept);
  }
  return pruned;
}

Result<Pruned> PostgresRoles::forget(const SessionId& session, Version version) {
  std::int64_t number = 0;
  Sweep sweep;
  auto found = access_.client.read([&](Connection& db) -> Result<void> {
    Rows rows = db.query("SELECT * FROM perdure.version_place($1, $2)",
                         Params::of(session.text(), sendable(version)));
    rows.next();
    number = rows.integer(0);
    sweep = {.segment = rows.integer(1), .from = rows.integer(2), .to = rows.integer(3)};
    return {};
  });
  if (!found) return forward(found);
  auto removed =
      access_.write("SELECT perdure.remove_version($1, $2)", Params::of(number, sendable(version)));
  if (!removed) return forward(removed);
  Pruned pruned{.versions = 1};
  const Progress none;
  Slices slices(none);
  auto swept = slices.run([&] { return sweep_slice(access_, sweep, pruned); });
  if (!swept) return forward(swept);
  return pruned;
}

}  // namespace perdure::postgres
