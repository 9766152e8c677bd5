// `PRAGMA data_version` changes exactly when another connection committed, and this
// connection never writes: so it counts every commit of every process, our own
// writer's included.

#include "sqlite/engine/watcher.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <expected>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <system_error>
#include <unistd.h>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/write_lock.hpp"

namespace perdure::sqlite {
namespace {

constexpr int look_every_ms = 1000;

}  // namespace

Watcher::Watcher(Readers& readers, const LockFile& lock_file)
    : readers_(readers), lock_file_(lock_file) {}

Watcher::~Watcher() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  if (notify_ >= 0) ::close(notify_);
  if (stop_ >= 0) ::close(stop_);
}

Result<std::uint64_t> Watcher::wait(std::uint64_t since, Duration timeout) {
  if (auto here = process_.check(); !here) return forward(here);
  std::unique_lock lock(mutex_);
  if (timeout > Duration(0)) {
    if (auto started = start(lock); !started) return forward(started);
  }
  if (auto looked = look(lock); !looked) return forward(looked);
  changed_.wait_for(lock, std::clamp(timeout, Duration(0), longest_wait),
                    [&] { return number_ > since; });
  return number_;
}

Result<void> Watcher::start(const std::unique_lock<std::mutex>& held) {
  if (thread_.joinable()) return {};
  if (notify_ < 0) notify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (stop_ < 0) stop_ = eventfd(0, EFD_CLOEXEC);
  if (notify_ < 0 || stop_ < 0 ||
      inotify_add_watch(notify_, lock_file_.path().c_str(), IN_MODIFY) < 0) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot watch {}: {}", lock_file_.path(), std::strerror(errno)));
  }
  if (auto looked = look(held); !looked) return looked;
  try {
    thread_ = std::thread(&Watcher::watch, this);
  } catch (const std::system_error& error) {
    return fail(ErrorCode::unavailable, fmt::format("cannot start a thread: {}", error.what()));
  }
  return {};
}

Result<void> Watcher::look(const std::unique_lock<std::mutex>& /*held*/) {
  try {
    if (!connection_) connection_ = readers_.open();
    Rows rows = connection_->query("PRAGMA data_version");
    if (!rows.next() || rows.integer(0) == data_version_) return {};
    data_version_ = rows.integer(0);
  } catch (const SqliteError& error) {
    connection_.reset();
    data_version_ = 0;
    return std::unexpected(error.to_error());
  }
  ++number_;
  changed_.notify_all();
  return {};
}

void Watcher::watch() {
  std::array<pollfd, 2> files{pollfd{notify_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
  while (true) {
    poll(files.data(), files.size(), look_every_ms);
    if (files[1].revents != 0) return;
    std::array<char, 4096> events{};
    while (::read(notify_, events.data(), events.size()) > 0) {
    }
    const std::unique_lock lock(mutex_);
    // A look that failed is repeated at the next wake-up.
    [[maybe_unused]] const auto looked = look(lock);
  }
}

}  // namespace perdure::sqlite
