// A user's code, called from a place that no exception may leave.
//
// Each seam calls it through `guarded`, and nowhere else is anything caught on its behalf: what it
// throws becomes an error that names it, and is handled as any other failure of it.

#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// For a `catch (...)`: `unavailable`, "NAME threw: WHAT".
[[nodiscard]] Error error_of_thrown(std::string_view name);

template <class T>
struct GuardedResult {
  using Type = Result<T>;
};
template <class T>
struct GuardedResult<Result<T>> {
  using Type = Result<T>;
};

/// What `code` returns, a Result as it is. Fails: as `code`; `unavailable` if it throws anything,
/// with `name` in the message: "the policy's `refuse`".
template <class Code>
[[nodiscard]] auto guarded(std::string_view name, Code&& code) {
  using Returned = std::invoke_result_t<Code>;
  using Guarded = typename GuardedResult<Returned>::Type;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<Code>(code)();
      return Guarded();
    } else {
      return Guarded(std::forward<Code>(code)());
    }
  } catch (...) {
    return Guarded(std::unexpected(error_of_thrown(name)));
  }
}

/// A user's clock. Where it throws, time continues from its last reading at the machine's pace.
class GuardedClock final : public Clock {
 public:
  explicit GuardedClock(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Timestamp now() const override;
  [[nodiscard]] Uptime uptime() const override;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable Timestamp now_{};  ///< The last reading; likewise the next one.
  mutable Uptime uptime_{};
  mutable Uptime now_at_{-1};  ///< By the machine's clock; below 0: never read. Likewise the next.
  mutable Uptime uptime_at_{-1};
};

/// A user's ids; random ones where it throws.
class GuardedIds final : public IdSource {
 public:
  explicit GuardedIds(IdSource& ids) : ids_(ids) {}
  [[nodiscard]] RawId next() override;

 private:
  IdSource& ids_;
};

/// The clock and the ids of some options, as everything beneath them uses them. Null: the
/// machine's, which are used as they are.
struct GuardedSources {
 private:
  const std::unique_ptr<GuardedClock> own_clock_;
  const std::unique_ptr<GuardedIds> own_ids_;

 public:
  GuardedSources(const Clock* own_clock, IdSource* own_ids);

  Clock& clock;
  IdSource& ids;
};

}  // namespace perdure
