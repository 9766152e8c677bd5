// A session whose agent is not the one that it was begun with.
//
// An agent is known by its digest: a line for each part, `PART HASH` (agent_parts.hpp makes one of an
// agent file). A session records the one it was begun with, and each one that it went on with
// (runtime/session_values.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {

/// What is done when it is resumed.
enum class OnChange : std::uint8_t {
  go_on,   ///< Written "continue": with the new agent, and the log says so.
  ask,     ///< Only if somebody accepts it.
  refuse,  ///< Not at all.
};

/// The parts that differ between two digests, sorted; empty: the same agent. Of one that is empty, or
/// not of this form, all parts do.
[[nodiscard]] std::vector<std::string> changed_parts(std::string_view recorded,
                                                     std::string_view now);

}  // namespace perdure
