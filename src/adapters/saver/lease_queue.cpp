// LeaseQueue on a session.

#include "saver/lease_queue.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <unistd.h>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/worker.hpp"

namespace perdure::saver {
namespace {

// Nothing is written when a holder dies, so nobody is woken: whoever waits looks again.
constexpr Duration look_every{100};
constexpr int tries_max = 100;

}  // namespace

SaverWorker::~SaverWorker() {
  if (!id_.empty()) (void)store_.ownership().retire(id_);
}

Result<WorkerId> SaverWorker::ready() {
  const std::lock_guard lock(mutex_);
  const Uptime now = rules_.clock->uptime();
  if (!id_.empty() && now - renewed_ < rules_.lease_time / 3) return id_;
  auto renewed = id_.empty() ? enroll() : store_.ownership().renew(id_);
  if (!renewed && renewed.error().code == ErrorCode::lease_lost) renewed = enroll();
  if (!renewed) return forward(renewed);
  renewed_ = now;
  return id_;
}

Result<void> SaverWorker::enroll() {
  const auto id = mint<WorkerTag>(*rules_.ids);
  auto enrolled = store_.ownership().enroll(
      {.id = id, .host = machine_name(), .pid = getpid(), .lease_time = rules_.lease_time});
  if (enrolled) id_ = id;
  return enrolled;
}

Result<void> LeaseQueue::run(const NewSession& session,
                             const std::function<Result<void>(const LeaseScope&)>& work) {
  for (int tries = 1;; ++tries) {
    auto done = wait_for(session.id, [&] { return run_once(session, work); });
    const bool is_held = !done && done.error().code == ErrorCode::lease_held;
    if (is_held) return name_holder(store_, session.id, std::move(done).error());
    const bool again = !done && done.error().code == ErrorCode::lease_lost;
    if (!again || tries == tries_max) return done;
  }
}

Result<void> LeaseQueue::wait_for(const SessionId& session,
                                  const std::function<Result<void>()>& action) {
  // A session's own code would wait for itself.
  const auto is_held = [&](const Result<void>& done) {
    return !done && done.error().code == ErrorCode::lease_held &&
           !OnBehalf::is_of(session, done.error().subject);
  };
  auto done = action();
  if (!is_held(done)) return done;
  const Uptime until = rules_.clock->uptime() + rules_.wait;
  for (;;) {
    // The number is asked for before the next try, so that no release is slept through.
    const auto since = store_.change_number();
    done = action();
    const Duration left = until - rules_.clock->uptime();
    if (!is_held(done) || !since || left <= Duration::zero()) return done;
    if (auto waited = store_.wait_for_change(*since, std::min(left, look_every)); !waited) {
      return forward(waited);
    }
  }
}

Result<Lease> LeaseQueue::acquire(const NewSession& session) {
  auto worker = worker_.ready();
  if (!worker) return forward(worker);
  // Its fence goes into commits only: the first that is synced brings the grant to disk too.
  auto lease = store_.ownership().acquire(session.id, *worker, Sync::later);
  if (lease || lease.error().code != ErrorCode::not_found) return lease;
  auto made = store_.sessions().create(session);
  if (!made && made.error().code != ErrorCode::already_exists) return forward(made);
  return store_.ownership().acquire(session.id, *worker, Sync::later);
}

Result<void> LeaseQueue::run_once(const NewSession& session,
                                  const std::function<Result<void>(const LeaseScope&)>& work) {
  const std::scoped_lock lock(
      in_turn_.at(std::hash<std::string>{}(session.id.text()) % in_turn_.size()));
  auto lease = acquire(session);
  if (!lease) return forward(lease);
  // Read after the lease: before it, another one could still write.
  auto summary = store_.sessions().read(session.id);
  auto done = summary ? work({.lease = *lease, .session = *summary}) : forward(summary);
  // What it left behind ends with our lease time at the latest.
  (void)store_.ownership().release(*lease);
  return done;
}

}  // namespace perdure::saver
