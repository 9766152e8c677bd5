// The thread cannot be woken while it waits in the kernel. So it is never joined:
// it owns what it touches, and a turn that nobody wants any more it gives back.

#include "sqlite/engine/write_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/api/descriptor.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::sqlite {
namespace {

/// 0, or the kernel's error number.
int lock_turn(const Descriptor& file, LockWait wait) {
  if (const int failure = lock_byte(file, door_byte, wait); failure != 0) return failure;
  const int failure = lock_byte(file, turn_byte, wait);
  unlock_byte(file, door_byte);
  return failure;
}

}  // namespace

struct WriteLock::State {
  State(std::string name, Descriptor opened) : path(std::move(name)), file(std::move(opened)) {}

  const std::string path;
  const Descriptor file;
  std::mutex mutex;
  std::condition_variable changed;
  bool has_thread = false;
  bool wanted = false;   ///< The thread shall get the turn.
  bool waiting = false;  ///< It is in the kernel's queue.
  bool held = false;     ///< It got the turn for whoever wants it.
  bool closing = false;
  int failure = 0;
};

Result<WriteLock> WriteLock::open(const std::string& path) {
  auto file = open_file(path);
  if (!file) return forward(file);
  return WriteLock(std::make_shared<State>(path, *std::move(file)));
}

WriteLock::WriteLock(std::shared_ptr<State> state) : state_(std::move(state)) {}

WriteLock::WriteLock(WriteLock&& other) noexcept = default;

WriteLock::~WriteLock() {
  if (!state_) return;
  const std::scoped_lock lock(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
}

Result<void> WriteLock::take(Duration wait) {
  {
    const std::scoped_lock lock(state_->mutex);
    // Behind the thread's own place in the queue nobody of this process may try.
    if (!state_->waiting && lock_turn(state_->file, LockWait::no) == 0) return {};
  }
  return wait_for_thread(wait);
}

Result<void> WriteLock::wait_for_thread(Duration wait) {
  std::unique_lock lock(state_->mutex);
  if (!state_->has_thread) {
    try {
      std::thread(stand_in, state_).detach();
    } catch (const std::system_error& error) {
      return fail(ErrorCode::unavailable, fmt::format("cannot start a thread: {}", error.what()));
    }
    state_->has_thread = true;
  }
  state_->wanted = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::min(wait, longest_wait),
                           [&] { return state_->held || state_->failure != 0; });
  state_->wanted = false;
  if (std::exchange(state_->held, false)) return {};
  if (const int failure = std::exchange(state_->failure, 0); failure != 0) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot lock {}: {}", state_->path, std::strerror(failure)));
  }
  return fail(
      ErrorCode::unavailable,
      fmt::format("no turn to write within {} ms: other processes that use {} write all the "
                  "time, or one of them was stopped in the middle",
                  wait.count(), state_->path),
      "store_in_use");
}

void WriteLock::stand_in(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->wanted || state->closing; });
    if (state->closing) return;
    state->waiting = true;
    lock.unlock();
    const int failure = lock_turn(state->file, LockWait::yes);
    lock.lock();
    state->waiting = false;
    state->held = failure == 0 && state->wanted;
    state->failure = state->wanted ? failure : 0;
    if (failure == 0 && !state->wanted) unlock_byte(state->file, turn_byte);
    // One answer to one wish, even before whoever wished has woken up.
    state->wanted = false;
    state->changed.notify_all();
  }
}

void WriteLock::end() { unlock_byte(state_->file, turn_byte); }

}  // namespace perdure::sqlite
