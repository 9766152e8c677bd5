// Giving back space: VACUUM, then blobs that no entry names.

#include "postgres/upkeep/vacuum.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/garbage.hpp"
#include "postgres/upkeep/slices.hpp"
#include "rules/retention.hpp"

namespace perdure::postgres {

// A VACUUM cannot be part of a function or a transaction: it is a statement by itself. It may take
// minutes, in which nothing comes back from the server.

namespace {

constexpr Duration vacuum_time_max = std::chrono::hours(24);

constexpr std::array<std::string_view, 12> tables{"entry",      "chunk", "message", "receipt",
                                                  "checkpoint", "call",  "session", "segment",
                                                  "claim",      "blob",  "pruned",  "garbage"};

bool is_forbearable(const PgError& error) {
  constexpr std::string_view insufficient_privilege = "42501";
  constexpr std::string_view lock_not_available = "55P03";
  constexpr std::string_view query_canceled = "57014";
  return error.sqlstate() == insufficient_privilege || error.sqlstate() == lock_not_available ||
         error.sqlstate() == query_canceled;
}

struct Disk {
  std::uint64_t bytes = 0;
  std::uint64_t page_bytes = 1;
};

/// All tables of the store, their indexes and what is stored beside them.
Result<Disk> measure(Client& client) {
  return client.read([](Connection& db) -> Result<Disk> {
    Rows rows = db.query(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, "
        "current_setting('block_size')::bigint FROM pg_class c WHERE c.relkind = 'r' AND "
        "c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = "
        "'perdure.entry'::regclass)");
    rows.next();
    return Disk{.bytes = rows.number(0), .page_bytes = rows.number(1)};
  });
}

}  // namespace

Result<void> vacuum_table(Client& client, std::string_view table) {
  const std::string statement = fmt::format("VACUUM (SKIP_LOCKED) perdure.{}", table);
  return client.read([&](Connection& db) -> Result<void> {
    db.set_patience(vacuum_time_max);
    try {
      db.query(statement);
    } catch (const PgError& error) {
      if (!is_forbearable(error)) throw;
    }
    return {};
  });
}

Result<Freed> PostgresRoles::vacuum(const Progress& progress) {
  auto garbage = list_garbage(access_);
  if (!garbage) return forward(garbage);
  Slices slices(progress);
  slices.step.total = tables.size();
  auto cleared = clear_garbage(access_, slices, *std::move(garbage));
  if (!cleared) return forward(cleared);
  auto before = measure(access_.client);
  if (!before) return forward(before);
  const auto* table = tables.begin();
  auto vacuumed = slices.run([&]() -> Result<bool> {
    if (auto done = vacuum_table(access_.client, *table); !done) return forward(done);
    ++slices.step.done;
    return ++table != tables.end();
  });
  if (!vacuumed) return forward(vacuumed);
  auto after = measure(access_.client);
  if (!after) return forward(after);
  // Others may have written more meanwhile than was given back.
  const std::uint64_t bytes = before->bytes - std::min(before->bytes, after->bytes);
  return Freed{.items = bytes / before->page_bytes, .bytes = bytes};
}

// Collecting blobs that nothing names (sql/collect.sql).

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
