// Less history and less space: prune, erase, remove, vacuum, and collecting blobs. The work is done by
// functions of the server (sql/retention.sql); here are the loops over slices.

#include "rules/retention.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/upkeep.hpp"

namespace perdure::postgres {

// Names first, then entries: what a name keeps is only known once it is gone.

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
      access.call("sweep_slice", sweep.segment, sweep.from, sweep.to, slice_rows, slice_bytes);
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
    auto removed = access.call("remove_versions", plan.session, last, plan.newest_from, keep.since,
                               sendable(keep.every), keep.labelled, slice_rows);
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
  auto removed = access_.call("remove_version", number, sendable(version));
  if (!removed) return forward(removed);
  Pruned pruned{.versions = 1};
  Slices slices;
  auto swept = slices.run([&] { return sweep_slice(access_, sweep, pruned); });
  if (!swept) return forward(swept);
  return pruned;
}

// The session is gone when its row is; everything else follows in slices.

namespace {

struct Removal {
  std::int64_t session = 0;
  std::optional<std::string> gone{};  ///< Its owner, whose process is known to have ended.
};

Result<Removal> look(const Access& access, const SessionId& session) {
  return access.client.read([&](Connection& db) -> Result<Removal> {
    Rows rows = db.query(
        "SELECT n.num, w.id, w.process FROM perdure.require_session($1) n(num) "
        "LEFT JOIN perdure.session s ON s.num = n.num "
        "LEFT JOIN perdure.worker w ON w.num = s.owner",
        Params::of(session.text()));
    rows.next();
    Removal removal{.session = rows.integer(0)};
    if (!rows.is_null(1) && has_ended(rows.text(2))) removal.gone = rows.string(1);
    return removal;
  });
}

/// Clears what is left of one removed session; adds to `sessions` those that existed only for it.
Result<void> clear(const Access& access, Slices& slices, Freed& freed,
                   std::vector<std::int64_t>& sessions) {
  const std::int64_t session = sessions.back();
  sessions.pop_back();
  std::int64_t segment = std::numeric_limits<std::int64_t>::max();
  std::int64_t from = 0;
  return slices.run([&]() -> Result<bool> {
    auto cleared = access.call("clear_slice", session, segment, from, slice_rows, slice_bytes);
    if (!cleared) return forward(cleared);
    ++slices.step.done;
    if (!cleared->next()) return false;
    segment = cleared->integer(0);
    from = cleared->integer(1);
    freed.items += cleared->number(2);
    freed.bytes += cleared->number(3);
    if (!cleared->is_null(4)) {
      sessions.push_back(cleared->integer(4));
      ++slices.step.total;
    }
    const bool more = cleared->boolean(5);
    if (more) ++slices.step.total;
    return more;
  });
}

}  // namespace

Result<std::vector<std::int64_t>> list_garbage(const Access& access) {
  return access.client.read([](Connection& db) -> Result<std::vector<std::int64_t>> {
    return db.query("SELECT session FROM perdure.garbage ORDER BY session").integers();
  });
}

Result<Freed> clear_garbage(const Access& access, Slices& slices,
                            std::vector<std::int64_t> sessions) {
  Freed freed;
  slices.step.total += sessions.size();
  while (!sessions.empty() && !slices.stopped()) {
    if (auto cleared = clear(access, slices, freed, sessions); !cleared) return forward(cleared);
  }
  return freed;
}

Result<Freed> PostgresRoles::remove(const SessionId& session, const Progress& progress) {
  auto removal = look(access_, session);
  if (!removal) return forward(removal);
  auto removed = access_.call("remove_session", access_.uptime(), removal->session, removal->gone);
  if (!removed) return forward(removed);
  Slices slices(progress);
  return clear_garbage(access_, slices, {removal->session});
}

// A VACUUM cannot be part of a function or a transaction: it is a statement by itself. It may take
// minutes, in which nothing comes back from the server.

namespace {

constexpr Duration vacuum_time_max = std::chrono::hours(24);

constexpr std::array<std::string_view, 12> tables{"entry",      "chunk", "message", "receipt",
                                                  "checkpoint", "call",  "session", "segment",
                                                  "claim",      "blob",  "pruned",  "garbage"};

// No right to it, no lock, canceled.
constexpr std::array<std::string_view, 3> forbearable{"42501", "55P03", "57014"};

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

/// Makes the space of deleted and replaced rows usable again, and cuts off what is free at the end
/// of the table's file. Not an error: the server does not let us (only a table's owner may), is at
/// it already, or ends it by a timeout of its own; then its autovacuum does the same in its time.
Result<void> vacuum_table(Client& client, std::string_view table) {
  const std::string statement = fmt::format("VACUUM (SKIP_LOCKED) perdure.{}", table);
  return client.read([&](Connection& db) -> Result<void> {
    db.set_patience(vacuum_time_max);
    try {
      db.query(statement);
    } catch (const PgError& error) {
      if (std::ranges::find(forbearable, error.sqlstate()) == forbearable.end()) throw;
    }
    return {};
  });
}

}  // namespace

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

// Collecting blobs that nothing names (sql/blobs.sql).

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
    auto slice = access_.call("collect_slice", BytesView{last}, *before, slice_rows, slice_bytes);
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

// Bodies are emptied in their rows; a VACUUM then takes the old versions of the rows out of reach.
// Where the server kept those bytes, it overwrites them when it uses the space again, not before:
// that, its WAL and its standbys are beyond us.

namespace {

/// Side by side, as parameters want them.
struct Entries {
  std::int64_t session = 0;  ///< From where they are seen.
  bool is_here = false;      ///< That one was not moved.
  std::vector<std::int64_t> owners{};
  std::vector<std::int64_t> positions{};
};

Result<Entries> find_entries(const Access& access, const SessionId& session,
                             const std::vector<Position>& positions) {
  std::vector<std::int64_t> sought;
  sought.reserve(positions.size());
  for (const Position position : positions) sought.push_back(sendable(position));
  return access.client.read([&](Connection& db) -> Result<Entries> {
    Rows rows =
        db.query("SELECT * FROM perdure.entry_owners($1, $2)", Params::of(session.text(), sought));
    Entries entries;
    while (rows.next()) {
      entries.session = rows.integer(0);
      entries.owners.push_back(rows.integer(1));
      entries.positions.push_back(rows.integer(2));
    }
    Rows here = db.query("SELECT moved IS NULL FROM perdure.session WHERE id = $1",
                         Params::of(session.text()));
    entries.is_here = here.next() && here.boolean(0);
    return entries;
  });
}

Result<Freed> empty_bodies(const Access& access, const Entries& entries) {
  const std::span<const std::int64_t> owners(entries.owners);
  const std::span<const std::int64_t> positions(entries.positions);
  Freed freed;
  std::size_t next = 0;
  Slices slices;
  auto emptied = slices.run([&]() -> Result<bool> {
    const std::size_t count = std::min<std::size_t>(slice_rows, owners.size() - next);
    if (count == 0) return false;
    auto slice = access.call("erase_slice", entries.session, owners.subspan(next, count),
                             positions.subspan(next, count), slice_bytes, entries.is_here);
    if (!slice) return forward(slice);
    if (!slice->next()) return false;
    next += slice->number(0);
    freed.items += slice->number(1);
    freed.bytes += slice->number(2);
    return next < owners.size();
  });
  if (!emptied) return forward(emptied);
  return freed;
}

}  // namespace

Result<Freed> PostgresRoles::erase(const SessionId& session,
                                   const std::vector<Position>& positions) {
  auto entries = find_entries(access_, session, positions);
  if (!entries) return forward(entries);
  auto freed = empty_bodies(access_, *entries);
  if (!freed) return forward(freed);
  // Messages too: the body of a consumed one came into the log, and its old row has it still.
  for (const char* table : {"entry", "message"}) {
    if (auto vacuumed = vacuum_table(access_.client, table); !vacuumed) return forward(vacuumed);
  }
  return freed;
}

}  // namespace perdure::postgres
