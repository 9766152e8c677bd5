// What an earlier process left of a session, and what is done about it by whoever takes it up.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

enum class Fate : std::uint8_t {
  runs,         ///< It was not made yet.
  replays,      ///< It was not made, and is not: it is done once, and another call did it.
  runs_again,   ///< It did nothing, or does it once for one key.
  asked_first,  ///< Its tool is asked whether it took effect.
  waits,        ///< Somebody has to decide, or to allow it.
  told,         ///< It is in doubt, and the model is told so.
  refused,      ///< It was not made, and is not: somebody refused it, or its tool is gone.
};

[[nodiscard]] std::string_view to_string(Fate fate);

struct LeftCall {
  Call call{};
  Fate fate = Fate::waits;
};

/// Calls of the session without an outcome, in their order. Without foresight, because nobody knows
/// the agent's tools, their effect classes alone tell.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<LeftCall>> read_left_calls(Store& store, const SessionId& session,
                                                            const State& state,
                                                            const Foresight* foresight);

/// Calls without an outcome that were made by the sessions a fork shares its log with, and are open in
/// that log: not the fork's to make again, to verify or to settle.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<Call>> read_inherited_doubts(Store& store,
                                                              const SessionSummary& fork,
                                                              const State& state);

}  // namespace perdure::cli
