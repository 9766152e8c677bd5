// What an earlier process left of a session, and what is done about it by whoever takes it up.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

/// As the effect class alone tells it. A tool's limits may say otherwise: too many attempts, a key
/// that its vendor has forgotten.
enum class Fate : std::uint8_t {
  runs,         ///< It was not made yet.
  runs_again,   ///< It did nothing, or does it once for one key.
  asked_first,  ///< Its tool is asked whether it took effect.
  waits,        ///< It is in doubt, and somebody has to decide.
};

[[nodiscard]] std::string_view to_string(Fate fate);

struct LeftCall {
  Call call{};
  Fate fate = Fate::waits;
};

/// Calls of the session without an outcome, in their order.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<LeftCall>> read_left_calls(Store& store, const SessionId& session,
                                                            const State& state);

}  // namespace perdure::cli
