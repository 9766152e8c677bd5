// Ownership over PostgreSQL: the server's clock judges leases.
//
// A worker whose process this machine knows to be gone is not waited for: its row names the
// process, the kernel is asked, and the grant is asked for again with that knowledge.

#include <cstdint>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/checks.hpp"
#include "store/api/lookup.hpp"

namespace perdure::postgres {
namespace {

// Those of this machine whose processes ended without a word.
Result<std::vector<std::int64_t>> find_gone(Client& client) {
  return client.read([](Connection& db) -> Result<std::vector<std::int64_t>> {
    const std::string machine(own_machine());
    Rows rows = db.query(
        "SELECT num, process FROM perdure.worker WHERE NOT ended AND starts_with(process, $1)",
        Params::of(machine));
    std::vector<std::int64_t> gone;
    while (rows.next()) {
      if (has_ended(rows.text(1))) gone.push_back(rows.integer(0));
    }
    return gone;
  });
}

}  // namespace

// Best effort: where the server cannot be told, the workers' time passes.
void PostgresRoles::end_workers() {
  if (own_.empty()) return;
  std::vector<std::string_view> workers;
  workers.reserve(own_.size());
  for (const WorkerId& worker : own_) workers.push_back(worker.text());
  [[maybe_unused]] const auto told = access_.call("end_workers", workers);
}

Result<void> PostgresRoles::enroll(const NewWorker& worker) {
  if (auto checked = rules::check(worker); !checked) return checked;
  auto gone = find_gone(access_.client);
  if (!gone) return forward(gone);
  auto enrolled =
      access_.call("enroll", access_.uptime(), mint<BatchTag>(access_.ids).text(), worker.id.text(),
                   worker.host, worker.pid, own_process(), worker.lease_time, *gone);
  if (!enrolled) return forward(enrolled);
  const std::scoped_lock lock(mutex_);
  own_.insert(worker.id);
  return {};
}

Result<void> PostgresRoles::renew(const WorkerId& worker) {
  const auto lost = [&] {
    return fail(ErrorCode::lease_lost,
                fmt::format("worker {} is unknown here or has retired", worker.text()),
                worker.text());
  };
  {
    const std::scoped_lock lock(mutex_);
    if (!own_.contains(worker)) return lost();
  }
  auto renewed = access_.call("renew", access_.uptime(), worker.text());
  if (!renewed) return forward(renewed);
  if (!renewed->next() || !renewed->boolean(0)) return lost();
  return {};
}

Result<void> PostgresRoles::retire(const WorkerId& worker) {
  auto retired = access_.call("retire", worker.text());
  if (!retired) return forward(retired);
  const std::scoped_lock lock(mutex_);
  own_.erase(worker);
  return {};
}

bool PostgresRoles::is_gone(const std::string& worker) {
  auto gone = access_.client.read([&](Connection& db) -> Result<bool> {
    Rows rows = db.query("SELECT process FROM perdure.worker WHERE id = $1", Params::of(worker));
    return rows.next() && has_ended(rows.text(0));
  });
  return gone && *gone;
}

// `ask(gone)` asks for the grant, knowing that the worker `gone` has ended.
template <class Ask>
Result<Fence> PostgresRoles::take(Ask ask) {
  Result<Rows> granted = ask(std::optional<std::string>());
  if (!granted && granted.error().code == ErrorCode::lease_held) {
    const std::string holder = granted.error().subject;
    if (is_gone(holder)) granted = ask(std::optional(holder));
  }
  if (!granted) return forward(granted);
  granted->next();
  return granted->number(0);
}

Result<Lease> PostgresRoles::acquire(const SessionId& session, const WorkerId& worker, Sync sync) {
  auto fence = take([&](const std::optional<std::string>& gone) {
    return access_.call("acquire", access_.now(), access_.uptime(), access_.is_synced(sync),
                        session.text(), worker.text(), gone);
  });
  if (!fence) return forward(fence);
  return Lease{.session = session, .worker = worker, .fence = *fence};
}

Result<void> PostgresRoles::release(const Lease& lease) {
  return without_rows(
      access_.call("release", lease.session.text(), lease.worker.text(), sendable(lease.fence)));
}

Result<ResourceLease> PostgresRoles::acquire_resource(const std::string& name,
                                                      const WorkerId& worker) {
  if (auto checked = rules::check_resource(name); !checked) return forward(checked);
  auto fence = take([&](const std::optional<std::string>& gone) {
    return access_.call("acquire_resource", access_.now(), access_.uptime(),
                        access_.is_synced(Sync::now), name, worker.text(), gone);
  });
  if (!fence) return forward(fence);
  return ResourceLease{.name = name, .worker = worker, .fence = *fence};
}

Result<void> PostgresRoles::release_resource(const ResourceLease& lease) {
  return without_rows(
      access_.call("release_resource", lease.name, lease.worker.text(), sendable(lease.fence)));
}

Result<std::optional<Holder>> PostgresRoles::find_resource(const std::string& name) {
  return access_.client.read([&](Connection& db) -> Result<std::optional<Holder>> {
    Rows rows = db.query(
        "SELECT r.fence, r.since, w.id, w.host, w.pid, w.process, w.ended, w.until > "
        "coalesce($1, perdure.clock_ms()) "
        "FROM perdure.resource r JOIN perdure.worker w ON w.num = r.worker WHERE r.name = $2",
        Params::of(access_.uptime(), searchable(name)));
    if (!rows.next()) return std::nullopt;
    return read_holder(rows, 0);
  });
}

}  // namespace perdure::postgres
