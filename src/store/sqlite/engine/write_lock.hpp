// Whose turn it is to write, among the processes of this machine.
//
// The kernel keeps the queue: a lock on the first byte of the lock file. It lets
// whoever comes first after a release have it, asleep or not, so a second byte is the
// door: who waits for the turn stands in it, and who had the turn just now cannot pass.
// Neither lock has a deadline of its own, so when the turn is not free a thread waits for it in the
// caller's place, and the caller waits for that thread as long as it likes. The
// thread starts when it is first needed; a lone process never has it.
//
// One thread at a time may take the turn; the writer sees to that.

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::sqlite {

/// The steady clock's nanoseconds would run over at Duration::max().
inline constexpr Duration longest_wait = std::chrono::hours(24 * 365);

class WriteLock {
 public:
  /// Fails: `unavailable`.
  [[nodiscard]] static Result<WriteLock> open(const std::string& path);
  ~WriteLock();
  WriteLock(WriteLock&& other) noexcept;
  WriteLock& operator=(WriteLock&&) = delete;
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

  /// Fails: `unavailable`, about "store_in_use", if it is not free within `wait`; `unavailable` if
  /// it cannot be locked.
  [[nodiscard]] Result<void> take(Duration wait);
  void end();

 private:
  struct State;
  explicit WriteLock(std::shared_ptr<State> state);

  [[nodiscard]] Result<void> wait_for_thread(Duration wait);
  static void stand_in(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace perdure::sqlite
