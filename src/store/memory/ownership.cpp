// Ownership in a memory store. A worker is alive while its time has not run out;
// there is no other process whose death could be recognised earlier.

#include "perdure/store/ownership.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>

#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "rules/checks.hpp"
#include "rules/moves.hpp"

namespace perdure::memory {

namespace {

/// Gives `grant` to `worker`; says whether that changed anything.
/// Fails: `lease_lost`; `lease_held`.
Result<bool> take(const State& state, Grant& grant, const WorkerId& worker, const Clock& clock) {
  const Uptime uptime = clock.uptime();
  if (auto live = require_live(state, worker, uptime); !live) return forward(live);
  if (grant.owner && grant.owner->worker == worker) return false;
  if (grant.owner && is_alive(state, grant.owner->worker, uptime)) {
    const std::string& owner = grant.owner->worker.text();
    return fail(ErrorCode::lease_held, fmt::format("worker {} holds it", owner), owner);
  }
  grant.owner = Grant::Owner{worker, clock.now()};
  ++grant.fence;
  return true;
}

bool give_up(Grant& grant, const WorkerId& worker) {
  if (!grant.owner || grant.owner->worker != worker) return false;
  grant.owner.reset();
  return true;
}

}  // namespace

Result<void> MemoryStore::enroll(const NewWorker& worker) {
  auto checked = rules::check(worker);
  if (!checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    if (state.workers.contains(worker.id)) {
      return fail(ErrorCode::already_exists,
                  fmt::format("there is a worker {} already", worker.id.text()), worker.id.text());
    }
    const Uptime until = base_.clock.uptime() + worker.lease_time;
    state.workers.emplace(worker.id, WorkerRow{worker, until});
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::renew(const WorkerId& worker) {
  return base_.state.with([&](State& state) -> Result<void> {
    const auto found = state.workers.find(worker);
    if (found == state.workers.end()) return require_live(state, worker, Uptime{});
    WorkerRow& row = found->second;
    row.until = base_.clock.uptime() + row.worker.lease_time;
    state.note_change();
    return {};
  });
}

Result<void> MemoryStore::retire(const WorkerId& worker) {
  return base_.state.with([&](State& state) -> Result<void> {
    if (!state.workers.contains(worker)) return {};
    for (auto& [id, table] : state.sessions) {
      if (give_up(table.grant, worker)) ++table.row.revision;
    }
    for (auto& [name, grant] : state.resources) give_up(grant, worker);
    state.workers.erase(worker);
    state.note_change();
    return {};
  });
}

Result<Lease> MemoryStore::acquire(const SessionId& session, const WorkerId& worker,
                                   Sync /*sync*/) {
  return base_.state.with([&](State& state) -> Result<Lease> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    auto here = rules::check_here(session, (*table)->moved);
    if (!here) return forward(here);
    Grant& grant = (*table)->grant;
    auto taken = take(state, grant, worker, base_.clock);
    if (!taken) return forward(taken);
    if (*taken) {
      ++(*table)->row.revision;
      state.note_change();
    }
    return Lease{session, worker, grant.fence};
  });
}

Result<void> MemoryStore::release(const Lease& lease) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto table = find_session(state, lease.session);
    if (!table || (*table)->grant.fence != lease.fence) return {};
    if (!give_up((*table)->grant, lease.worker)) return {};
    ++(*table)->row.revision;
    state.note_change();
    return {};
  });
}

Result<ResourceLease> MemoryStore::acquire_resource(const std::string& name,
                                                    const WorkerId& worker) {
  auto checked = rules::check_resource(name);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<ResourceLease> {
    const auto found = state.resources.find(name);
    Grant grant = found == state.resources.end() ? Grant{} : found->second;
    auto taken = take(state, grant, worker, base_.clock);
    if (!taken) return forward(taken);
    if (*taken) {
      state.resources.insert_or_assign(name, grant);
      state.note_change();
    }
    return ResourceLease{name, worker, grant.fence};
  });
}

Result<void> MemoryStore::release_resource(const ResourceLease& lease) {
  return base_.state.with([&](State& state) -> Result<void> {
    const auto found = state.resources.find(lease.name);
    if (found == state.resources.end() || found->second.fence != lease.fence) return {};
    if (give_up(found->second, lease.worker)) state.note_change();
    return {};
  });
}

Result<std::optional<Holder>> MemoryStore::find_resource(const std::string& name) {
  return base_.state.with([&](State& state) -> Result<std::optional<Holder>> {
    const auto found = state.resources.find(name);
    if (found == state.resources.end()) return std::nullopt;
    ++state.counters.rows_read;
    return holder_of(state, found->second, base_.clock.uptime());
  });
}

}  // namespace perdure::memory
