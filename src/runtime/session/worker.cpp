// The thread sleeps in real time; what counts as too late is the injected clock's.

#include "session/worker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unistd.h>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

Result<std::unique_ptr<Worker>> Worker::enroll(Store& store, const Clock& clock, Options options) {
  const NewWorker row{
      .id = options.id, .host = options.host, .pid = options.pid, .lease_time = options.lease_time};
  const Uptime begun = clock.uptime();
  if (auto enrolled = store.ownership().enroll(row); !enrolled) return forward(enrolled);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::unique_ptr<Worker> worker(new Worker(store, clock, std::move(options)));
  worker->renewed_at_ = begun;
  if (worker->options_.renews_itself) {
    worker->thread_ = std::jthread(
        [self = worker.get()](const std::stop_token& end) { self->keep_renewing(end); });
  }
  return worker;
}

Worker::Worker(Store& store, const Clock& clock, Options options)
    : store_(store), clock_(clock), options_(std::move(options)) {}

Worker::~Worker() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  stop_.request_stop();
  // Where this fails, the end of the process or of the lease frees what it holds.
  [[maybe_unused]] const auto retired = store_.ownership().retire(options_.id);
}

Worker::Place::~Place() {
  if (taken_ == nullptr) return;  // Moved from.
  const std::lock_guard lock(taken_->mutex);
  taken_->sessions.erase(session_);
}

Result<Worker::Place> Worker::take_place(const SessionId& session) {
  if (auto here = process_.check(); !here) return forward(here);
  const std::lock_guard lock(taken_->mutex);
  if (taken_->sessions.insert(session).second) return Place(taken_, session);
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by this process ({}): an object that was opened "
                          "before has it. Use that one, or drop it first",
                          session.text(), ::getpid()),
              options_.id.text());
}

bool Worker::may_act() const {
  const std::lock_guard lock(mutex_);
  return clock_.uptime() < renewed_at_ + options_.lease_time - margin();
}

std::stop_token Worker::stop_token() const {
  const std::lock_guard lock(mutex_);
  return stop_.get_token();
}

Result<void> Worker::renew() {
  if (auto here = process_.check(); !here) return here;
  const Uptime begun = clock_.uptime();
  auto renewed = store_.ownership().renew(options_.id);
  // Asked to stop outside the lock, because a callback may ask us something; and before `may_act`
  // says yes again.
  std::stop_source lost(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    const bool was_late = clock_.uptime() >= renewed_at_ + options_.lease_time - margin();
    if (was_late) lost = std::exchange(stop_, std::stop_source());
  }
  lost.request_stop();
  const std::lock_guard lock(mutex_);
  if (renewed) renewed_at_ = std::max(renewed_at_, begun);
  return renewed;
}

void Worker::keep_renewing(const std::stop_token& end) {
  // After a failure sooner: the store may be back in a moment.
  const Duration usual = std::max(options_.lease_time / 3, Duration(1));
  const Duration soon = std::max(options_.lease_time / 30, Duration(1));
  Duration wait = usual;
  std::mutex sleeping;
  std::unique_lock lock(sleeping);
  while (!end.stop_requested()) {
    ended_.wait_for(lock, end, wait, [] { return false; });
    if (end.stop_requested()) return;
    wait = renew() ? usual : soon;
  }
}

}  // namespace perdure
