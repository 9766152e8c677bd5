// What one caller in a queue waits for: that it is to lead, or that somebody else has done its work.
//
// Each has a lock of its own: where all share one, those who are woken meet at it once more.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace perdure::postgres {

class Turn {
 public:
  enum class Call : std::uint8_t { none, lead, done };

  /// Returns what it was called for.
  Call wait() {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [this] { return call_ != Call::none; });
    return call_;
  }
  /// Once. The caller may be gone when this returns.
  void call(Call call) {
    const std::scoped_lock lock(mutex_);
    call_ = call;
    called_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable called_;
  Call call_ = Call::none;
};

}  // namespace perdure::postgres
