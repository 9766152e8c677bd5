// The first repetition comes at once: most often a connection died that nobody had used for a while.
// Later ones come slower, each caller at its own pace, so that a server that comes back is not met
// by all of them in the same moment.

#include "postgres/client/attempts.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <thread>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {
namespace {

constexpr Duration pause_min{4};
constexpr Duration pause_max{250};
constexpr int doublings_max = 6;

/// Something in [0, bound) that differs from thread to thread and from time to time.
std::size_t scatter(std::size_t bound) {
  const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  const auto time = static_cast<std::size_t>(system_clock().uptime().count());
  return (thread ^ time) * 0x9E3779B97F4A7C15U % bound;
}

}  // namespace

std::optional<Error> Attempts::after(const PgError& error) {
  note(error);
  const bool is_better = !said_ || said_->sqlstate().empty();
  if (!error.sqlstate().empty() || (!error.is_silent() && is_better)) said_ = error;
  if (error.is_answer() || !error.may_be_repeated() || deadline_.is_over()) return give_up(error);
  if (failed_++ > 0) pause();
  return std::nullopt;
}

Error Attempts::give_up(const PgError& error) const {
  if (error.is_answer() || !may_have_happened_) return reason(error).to_error();
  return {ErrorCode::commit_unknown,
          fmt::format("it may or may not have happened ({}). Repeat the same batch to find out.",
                      reason(error).what()),
          {}};
}

void Attempts::pause() {
  const Duration longest = std::min(pause_max, pause_min * (1 << std::min(failed_, doublings_max)));
  const auto half = static_cast<std::size_t>(longest.count() / 2);
  const Duration time(half + scatter(half + 1));
  poll(nullptr, 0, static_cast<int>(std::min(time, deadline_.left()).count()));
}

}  // namespace perdure::postgres
