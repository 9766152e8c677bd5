// Whether a failed attempt is repeated, and when: pure, so that no test waits.

#pragma once

#include <optional>

#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Whether an answer of this status says "later" rather than "no". A provider may say so itself
/// (x-should-retry).
[[nodiscard]] bool is_worth_repeating(const HttpHead& head);

/// What the provider wants us to wait: retry-after-ms, retry-after in seconds or as a date. Nothing
/// if it does not say, or nothing that makes sense.
[[nodiscard]] std::optional<Duration> wanted_wait(const HttpHead& head, Timestamp now);

/// A number in [0, 1), by chance.
[[nodiscard]] double chance_from(IdSource& ids);

struct FailedAttempt {
  int number = 1;  ///< The first is 1.
  Duration since_first{};
  std::optional<Duration> wanted{};  ///< By the provider.
};

/// Nothing: it is not repeated, because the next attempt would start later than `total` allows.
[[nodiscard]] std::optional<Duration> wait_before_next(const RetryOptions& options,
                                                       const FailedAttempt& failed, double chance);

}  // namespace perdure
