// Code that a session calls: tools, their verify, a policy, a provider, an observer.
//
// It runs while the session is held. Were it to open that session once more and wait for it, it would
// wait for itself; so Runtime::open asks here, and refuses.

#pragma once

#include <optional>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/store/ownership.hpp"

namespace perdure {

/// As long as it lives, this thread runs code of the session that is held by that lease. One within
/// another is usual. The runtime and the agent loop have one wherever they call somebody's code; a
/// program that starts a thread there hands `current` on to it.
class OnBehalf {
 public:
  explicit OnBehalf(Lease lease);
  ~OnBehalf();
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;

  /// Whether this thread runs code of the session, as that worker holds it.
  [[nodiscard]] static bool is_of(const SessionId& session, std::string_view worker);
  /// The innermost on this thread.
  [[nodiscard]] static std::optional<Lease> current();

 private:
  const Lease lease_;
  const OnBehalf* const outer_;
};

}  // namespace perdure
