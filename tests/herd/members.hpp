// What those who play a herd of sessions, and those who judge them, have to agree on.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "effects/play.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure::herd {

/// Short, so that a stopped process is succeeded soon.
inline constexpr Duration lease_time = std::chrono::milliseconds(1500);

[[nodiscard]] inline SessionId session_of(int number) {
  return SessionId::parse("member " + std::to_string(number)).value();
}

/// Of all that this session does in the world.
[[nodiscard]] inline std::string prefix_of(int number) { return std::to_string(number) + "/"; }

[[nodiscard]] inline effects::Manner manner_of(int number) {
  constexpr std::array all = {effects::Manner::goes_on, effects::Manner::reissues,
                              effects::Manner::rewords};
  return all[static_cast<std::size_t>(number) % all.size()];
}

}  // namespace perdure::herd
