// Ownership over SQLite: one file, one kernel, so uptime and boot id judge leases.
//
// Renewals need not reach the disk: if the machine dies, so do its workers. Grants
// do, because their fences are shown to the outside; unless the caller shows it to nobody.

#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/checks.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"
#include "store/api/lookup.hpp"

namespace perdure::sqlite {
namespace {

// What has to be known of a session or a resource before it is granted to somebody.
struct Grip {
  Fence fence = 0;
  std::optional<Holder> holder;
  rules::Moved moved;  // Of a session.

  [[nodiscard]] bool is_of(const WorkerId& worker) const {
    return holder && holder->worker == worker;
  }
};

Grip read_grip(const Rows& rows, const Workers& workers) {
  return {.fence = rows.number(6), .holder = read_holder(rows, 0, workers), .moved = {}};
}

std::optional<Grip> find_session_grip(Connection& db, const Workers& workers, const SessionId& id) {
  Rows rows = db.query(
      "SELECT w.num, w.id, w.host, w.pid, w.boot, w.until, s.fence, s.owned_since, s.moved "
      "FROM session s LEFT JOIN worker w ON w.num = s.owner WHERE s.id = ?",
      id.text());
  if (!rows.next()) return std::nullopt;
  Grip grip = read_grip(rows, workers);
  grip.moved = rules::moved_from(rows.text(8));
  return grip;
}

Grip find_resource_grip(Connection& db, const Workers& workers, const std::string& name) {
  Rows rows = db.query(
      "SELECT w.num, w.id, w.host, w.pid, w.boot, w.until, r.fence, r.since "
      "FROM resource r LEFT JOIN worker w ON w.num = r.worker WHERE r.name = ?",
      name);
  return rows.next() ? read_grip(rows, workers) : Grip{};
}

// num, boot, until.
WorkerRow read_worker(const Rows& rows) {
  return {.number = rows.integer(0), .boot = rows.string(1), .until = Uptime(rows.integer(2))};
}

std::unexpected<Error> held(std::string_view what, const Holder& holder) {
  return fail(ErrorCode::lease_held,
              fmt::format("{} is held by worker {} (host {}, pid {}) since {}", what,
                          holder.worker.text(), holder.host, holder.pid, to_iso8601(holder.since)),
              holder.worker.text());
}

// A worker that owns nothing and whose process is gone can never come back.
void forget_the_gone(Connection& db, const Workers& workers) {
  std::vector<std::int64_t> gone;
  {
    Rows rows = db.query(
        "SELECT num, boot, until FROM worker "
        "WHERE num NOT IN (SELECT owner FROM session WHERE owner IS NOT NULL) "
        "AND num NOT IN (SELECT worker FROM resource WHERE worker IS NOT NULL)");
    while (rows.next()) {
      const WorkerRow row = read_worker(rows);
      if (!workers.has_process(row)) gone.push_back(row.number);
    }
  }
  for (const std::int64_t number : gone) db.run("DELETE FROM worker WHERE num = ?", number);
}

// A number that was given before and not kept is given again. Whoever was to have it was killed in
// between, and the kernel may still be about to drop its lock: that one is left out.
Result<std::int64_t> take_number(Connection& db, Workers& workers) {
  constexpr int numbers_max = 1000;
  for (int i = 0; i < numbers_max; ++i) {
    const std::int64_t number = next_number(db, "workers");
    auto held = workers.hold(number);
    if (!held) return forward(held);
    if (*held) return number;
  }
  return fail(ErrorCode::unavailable,
              "another program locks the file beside the store whose name ends with -lock: find it "
              "(fuser, lsof) and end it");
}

}  // namespace

Result<std::int64_t> require_live_worker(Connection& db, const Workers& workers,
                                         const WorkerId& id) {
  Rows rows = db.query("SELECT num, boot, until FROM worker WHERE id = ?", id.text());
  if (rows.next()) {
    const WorkerRow row = read_worker(rows);
    if (workers.is_alive(row)) return row.number;
  }
  return fail(ErrorCode::lease_lost,
              fmt::format("worker {} is not enrolled, or its lease time has passed", id.text()),
              id.text());
}

// The lock is taken before anybody can see the row, so that nobody takes the worker for dead.
Result<void> SqliteRoles::enroll(const NewWorker& worker) {
  if (auto checked = rules::check(worker); !checked) return checked;
  std::int64_t number = 0;
  auto enrolled = access_.writer.write(
      [&](Connection& db) -> Result<void> {
        forget_the_gone(db, access_.workers);
        if (db.query("SELECT 1 FROM worker WHERE id = ?", worker.id.text()).next()) {
          return fail(ErrorCode::already_exists,
                      fmt::format("worker {} is enrolled already", worker.id.text()),
                      worker.id.text());
        }
        auto taken = take_number(db, access_.workers);
        if (!taken) return forward(taken);
        number = *taken;
        db.run(
            "INSERT INTO worker (num, id, host, pid, boot, lease_time, until) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            number, worker.id.text(), worker.host, worker.pid, access_.workers.boot(),
            worker.lease_time.count(), (access_.clock.uptime() + worker.lease_time).count());
        return {};
      },
      Sync::later);
  if (!enrolled && number != 0) access_.workers.drop(number);
  return enrolled;
}

Result<void> SqliteRoles::renew(const WorkerId& worker) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        Rows rows = db.query("SELECT num FROM worker WHERE id = ?", worker.text());
        if (!rows.next() || !access_.workers.holds(rows.integer(0))) {
          return fail(ErrorCode::lease_lost,
                      fmt::format("worker {} is unknown here or has retired", worker.text()),
                      worker.text());
        }
        db.run("UPDATE worker SET until = ? + lease_time WHERE num = ?",
               access_.clock.uptime().count(), rows.integer(0));
        return {};
      },
      Sync::later);
}

Result<void> SqliteRoles::retire(const WorkerId& worker) {
  std::int64_t number = 0;
  auto retired = access_.writer.write(
      [&](Connection& db) -> Result<void> {
        Rows rows = db.query("SELECT num FROM worker WHERE id = ?", worker.text());
        if (!rows.next()) return {};
        number = rows.integer(0);
        db.run(
            "UPDATE session SET owner = NULL, owned_since = NULL, revision = revision + 1 "
            "WHERE owner = ?",
            number);
        db.run("UPDATE resource SET worker = NULL WHERE worker = ?", number);
        db.run("DELETE FROM worker WHERE num = ?", number);
        return {};
      },
      Sync::later);
  if (retired && number != 0) access_.workers.drop(number);
  return retired;
}

Result<Lease> SqliteRoles::acquire(const SessionId& session, const WorkerId& worker, Sync sync) {
  const auto grant = [&](Connection& db) -> Result<Lease> {
    const auto grip = find_session_grip(db, access_.workers, session);
    if (!grip) {
      return fail(ErrorCode::not_found, fmt::format("there is no session {}", session.text()),
                  session.text());
    }
    if (auto here = rules::check_here(session, grip->moved); !here) return forward(here);
    auto number = require_live_worker(db, access_.workers, worker);
    if (!number) return forward(number);
    Lease lease{.session = session, .worker = worker, .fence = grip->fence};
    if (grip->is_of(worker)) return lease;
    const auto& holder = grip->holder;
    if (holder && holder->alive) return held(fmt::format("session {}", session.text()), *holder);
    ++lease.fence;
    db.run(
        "UPDATE session SET owner = ?, owned_since = ?, fence = ?, revision = revision + 1 "
        "WHERE id = ?",
        *number, access_.clock.now(), lease.fence, session.text());
    return lease;
  };
  return access_.writer.write(grant, sync);
}

Result<void> SqliteRoles::release(const Lease& lease) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        db.run(
            "UPDATE session SET owner = NULL, owned_since = NULL, revision = revision + 1 "
            "WHERE id = ? AND fence = ? AND owner = (SELECT num FROM worker WHERE id = ?)",
            lease.session.text(), lease.fence, lease.worker.text());
        return {};
      },
      Sync::later);
}

Result<ResourceLease> SqliteRoles::acquire_resource(const std::string& name,
                                                    const WorkerId& worker) {
  if (auto checked = rules::check_resource(name); !checked) return forward(checked);
  return access_.writer.write([&](Connection& db) -> Result<ResourceLease> {
    auto number = require_live_worker(db, access_.workers, worker);
    if (!number) return forward(number);
    const Grip grip = find_resource_grip(db, access_.workers, name);
    ResourceLease lease{.name = name, .worker = worker, .fence = grip.fence};
    if (grip.is_of(worker)) return lease;
    const auto& holder = grip.holder;
    if (holder && holder->alive) return held(fmt::format("resource {}", name), *holder);
    ++lease.fence;
    db.run("INSERT OR REPLACE INTO resource (name, worker, fence, since) VALUES (?, ?, ?, ?)", name,
           *number, lease.fence, access_.clock.now());
    return lease;
  });
}

Result<void> SqliteRoles::release_resource(const ResourceLease& lease) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        db.run(
            "UPDATE resource SET worker = NULL WHERE name = ? AND fence = ? "
            "AND worker = (SELECT num FROM worker WHERE id = ?)",
            lease.name, lease.fence, lease.worker.text());
        return {};
      },
      Sync::later);
}

Result<std::optional<Holder>> SqliteRoles::find_resource(const std::string& name) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Holder>> {
    return find_resource_grip(db, access_.workers, name).holder;
  });
}

}  // namespace perdure::sqlite
