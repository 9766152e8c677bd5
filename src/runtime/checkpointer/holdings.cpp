// Getting and keeping sessions.

#include "checkpointer/holdings.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>

#include "checkpointer/held_log.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/store/sessions.hpp"
#include "session/worker.hpp"

namespace perdure::checkpointing {
namespace {

std::string this_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

bool is_end(Status status) {
  return status == Status::completed || status == Status::failed || status == Status::cancelled;
}

bool is_at_rest(Status status) { return is_end(status) || status == Status::paused; }

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
                                .host = this_machine(),
                                .pid = ::getpid(),
                                .lease_time = options_.lease_time});
    if (!made) return forward(made);
    worker_ = *std::move(made);
  }
  return worker_.get();
}

// One that we have is asked for again: another process may have taken it over, and whoever loads
// must not be told what was true before.
Result<void> Holdings::take_up(Slot& slot, const SessionId& session) {
  if (slot.held) {
    const auto row = store_.sessions().read(session);
    if (row && row->holder && row->holder->fence == slot.held->fence()) return {};
    slot.held.reset();
  }
  auto worker = enrolled();
  if (!worker) return forward(worker);
  auto held = HeldLog::take_up(store_, *options_.ids, session, (*worker)->id());
  if (!held && held.error().code == ErrorCode::lease_lost) {
    // The machine slept; nobody minds a late renewal.
    if (auto renewed = (*worker)->renew(); !renewed) return forward(renewed);
    held = HeldLog::take_up(store_, *options_.ids, session, (*worker)->id());
  }
  if (!held) return forward(held);
  slot.held = *std::move(held);
  return {};
}

}  // namespace perdure::checkpointing
