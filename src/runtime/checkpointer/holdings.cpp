// Getting and keeping sessions.

#include "checkpointer/holdings.hpp"

#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

#include "checkpointer/held_log.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "session/name_holder.hpp"
#include "session/worker.hpp"

namespace perdure::checkpointing {

bool is_at_rest(Status status) { return has_ended(status) || status == Status::paused; }

std::shared_ptr<Holdings::Slot> Holdings::find_slot(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  auto& slot = slots_[session];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

Result<Worker*> Holdings::enrolled() {
  const std::lock_guard lock(mutex_);
  if (!worker_) {
    auto made = Worker::enroll(store_, *options_.clock,
                               {.id = mint<WorkerTag>(*options_.ids),
                                .host = machine_name(),
                                .pid = options_.pid == 0 ? ::getpid() : options_.pid,
                                .lease_time = options_.lease_time});
    if (!made) return forward(made);
    worker_ = *std::move(made);
  }
  return worker_.get();
}

Result<void> Holdings::begin(const SessionId& session, const std::vector<NewEntry>& opening) {
  const auto slot = find_slot(session);
  const std::lock_guard lock(slot->mutex);
  auto worker = enrolled();
  if (!worker) return forward(worker);
  const auto create = [&] {
    return HeldLog::begin(store_, *options_.ids, session, **worker, opening);
  };
  auto held = create();
  if (!held && held.error().code == ErrorCode::lease_lost) {
    // As in take_up.
    if (auto renewed = (*worker)->renew(); !renewed) return forward(renewed);
    held = create();
  }
  if (!held) return forward(held);
  slot->held = *std::move(held);
  return {};
}

// One that we have is asked for again: another process may have taken it over, or deleted it and begun
// another one by its id, whose fences begin again. Whoever loads must not be told what was true before.
Result<void> Holdings::take_up(Slot& slot, const SessionId& session) {
  if (slot.held) {
    const auto row = store_.sessions().read(session);
    if (row && row->holder && slot.held->is_held_by(*row->holder)) return {};
    slot.held.reset();
  }
  auto worker = enrolled();
  if (!worker) return forward(worker);
  auto held = HeldLog::take_up(store_, *options_.ids, session, **worker);
  if (!held && held.error().code == ErrorCode::lease_lost) {
    // The machine slept; nobody minds a late renewal.
    if (auto renewed = (*worker)->renew(); !renewed) return forward(renewed);
    held = HeldLog::take_up(store_, *options_.ids, session, **worker);
  }
  if (!held) return forward(held);
  slot.held = *std::move(held);
  return {};
}

}  // namespace perdure::checkpointing
