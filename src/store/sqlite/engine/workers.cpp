// The kernel's boot id tells a lease of this machine start from one before it,
// whose uptime means nothing any more.

#include "sqlite/engine/workers.hpp"

#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {
namespace {

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

Workers::Workers(LockFile& lock_file, const Clock& clock, const std::string& boot)
    : lock_file_(lock_file), clock_(clock), boot_(boot.empty() ? read_boot_id() : boot) {}

Result<bool> Workers::hold(std::int64_t number) {
  auto held = lock_file_.hold_worker(number);
  if (!held || !*held) return held;
  const std::scoped_lock lock(mutex_);
  own_.insert(number);
  return true;
}

void Workers::drop(std::int64_t number) {
  const std::scoped_lock lock(mutex_);
  if (own_.erase(number) > 0) lock_file_.drop_worker(number);
}

bool Workers::holds(std::int64_t number) const {
  const std::scoped_lock lock(mutex_);
  return own_.contains(number);
}

bool Workers::has_process(const WorkerRow& worker) const {
  return worker.boot == boot_ &&
         (holds(worker.number) || lock_file_.is_held_elsewhere(worker.number));
}

bool Workers::is_alive(const WorkerRow& worker) const {
  return worker.until > clock_.uptime() && has_process(worker);
}

}  // namespace perdure::sqlite
