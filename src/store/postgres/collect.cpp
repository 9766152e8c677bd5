// Collecting blobs that nothing names (sql/collect.sql).

#include <algorithm>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/connection.hpp"
#include "postgres/params.hpp"
#include "postgres/roles.hpp"
#include "postgres/rows.hpp"
#include "postgres/slices.hpp"
#include "rules/retention.hpp"

namespace perdure::postgres {

Result<Freed> PostgresRoles::collect_blobs(Duration staged_for, const Progress& progress) {
  if (auto checked = rules::check_grace(staged_for); !checked) return forward(checked);
  Slices slices(progress);
  // The time is taken once: what is put while we work stays.
  auto before = access_.client.read([&](Connection& db) -> Result<Timestamp> {
    Rows rows = db.query(
        "SELECT count(*), coalesce($1, perdure.clock_ms())"
        " - $2 FROM perdure.blob",
        Params::of(access_.now(), staged_for));
    rows.next();
    slices.step.total = rows.number(0);
    return rows.time(1);
  });
  if (!before) return forward(before);
  Freed freed;
  std::string last;
  auto collected = slices.run([&]() -> Result<bool> {
    auto slice = access_.write("SELECT * FROM perdure.collect_slice($1, $2, $3, $4)",
                               Params::of(BytesView{last}, *before, slice_rows, slice_bytes));
    if (!slice) return forward(slice);
    if (!slice->next() || slice->is_null(0)) return false;
    last = slice->string(0);
    slices.step.done += slice->number(1);
    slices.step.total = std::max(slices.step.total, slices.step.done);
    freed.items += slice->number(2);
    freed.bytes += slice->number(3);
    return true;
  });
  if (!collected) return forward(collected);
  return freed;
}

}  // namespace perdure::postgres
