// A thread may also sleep for a moment to get at the queue, but then another one is awake
// in it: several looks in a row see all of them asleep only when they are queued.

#include "doubles/committer.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace perdure {

Committer::Committer(Store& store, const Lease& lease, Batch batch)
    : batch_(std::move(batch)), thread_([this, &store, lease] {
        id_ = gettid();
        answer_ = store.commit(lease, batch_);
      }) {}

bool Committer::is_asleep() const {
  if (id_ == 0) return false;
  const std::ifstream file(fmt::format("/proc/self/task/{}/stat", id_.load()));
  std::stringstream text;
  text << file.rdbuf();
  const std::size_t name_end = text.str().rfind(')');
  return name_end != std::string::npos && text.str().substr(name_end + 2, 1) == "S";
}

Result<Receipt> Committer::finish() {
  thread_.join();
  return *answer_;
}

bool wait_until_queued(const Committers& committers, const AskedClock& clock, int asked) {
  const Uptime deadline = system_clock().uptime() + std::chrono::minutes(5);
  int looks = 0;
  while (looks < 5 && system_clock().uptime() < deadline) {
    const bool all = clock.asked() >= asked &&
                     std::ranges::all_of(committers, [](const auto& c) { return c->is_asleep(); });
    looks = all ? looks + 1 : 0;
    std::this_thread::yield();
  }
  return looks == 5;
}

}  // namespace perdure
