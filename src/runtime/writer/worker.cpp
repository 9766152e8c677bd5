// The thread sleeps in real time; what counts as too late is the injected clock's.

#include "runtime/api/worker.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
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

// What a child of fork(2) inherits is its parent's, with a mutex that may be locked for ever: the child
// begins a register of its own. None is ever deleted, since objects may be dropped late.
struct Worker::Place::Taken {
  const OwnProcess process;
  std::mutex mutex;
  std::map<Key, WorkerId> workers;
};

Worker::Place::Taken& Worker::Place::taken_here() {
  static constinit std::atomic<Taken*> present = nullptr;
  Taken* seen = present.load();
  while (seen == nullptr || !seen->process.is_here()) {
    auto made = std::make_unique<Taken>();
    if (present.compare_exchange_weak(seen, made.get())) return *made.release();
  }
  return *seen;
}

Worker::Place::~Place() {
  if (taken_ == nullptr || !taken_->process.is_here()) return;
  const std::lock_guard lock(taken_->mutex);
  taken_->workers.erase(key_);
}

Result<Worker::Place> Worker::take_place(const SessionId& session) {
  if (auto here = process_.check(); !here) return forward(here);
  Place::Key key(store_.info().incarnation, options_.pid, session);
  Place::Taken& taken = Place::taken_here();
  const std::lock_guard lock(taken.mutex);
  const auto [found, is_ours] = taken.workers.try_emplace(key, options_.id);
  if (is_ours) return Place(taken, std::move(key));
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by this process ({}): an object that was opened "
                          "before has it. Use that one, or drop it first",
                          session.text(), ::getpid()),
              found->second.text());
}

Result<Worker::Grip> Worker::take(const SessionId& session) {
  auto place = take_place(session);
  if (!place) return forward(place);
  auto lease = store_.ownership().acquire(session, id());
  if (!lease && lease.error().code == ErrorCode::lease_held) {
    return name_holder(store_, session, std::move(lease).error());
  }
  if (!lease) return forward(lease);
  return Grip{.place = *std::move(place), .lease = *std::move(lease)};
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

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::unexpected<Error> name_holder(Store& store, const SessionId& session, Error error) {
  const auto row = store.sessions().read(session);
  if (row && row->holder) {
    const Holder& holder = *row->holder;
    const bool is_here = holder.pid == ::getpid() && holder.host == machine_name();
    error.message =
        fmt::format("session {} is held by {}worker {} on {}, process {}, since {}", session.text(),
                    is_here ? "this process: " : "", holder.worker.text(), holder.host, holder.pid,
                    to_iso8601(holder.since));
  }
  return std::unexpected(std::move(error));
}

}  // namespace perdure
