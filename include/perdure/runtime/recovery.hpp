// What is done about the calls that an earlier process left without an outcome: per call an action and
// a reason. The dispatcher, a resume, its dry run and what a program prints go by the same decisions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
enum class CallAction : std::uint8_t {
  run,           ///< It was not made yet.
  replay,        ///< It is not made: it is done once, and another call did it.
  run_again,     ///< It did nothing, or does it once for one key, or a person decided so.
  verify,        ///< Its tool is asked whether it took effect.
  settle,        ///< Verify said that it took effect.
  wait,          ///< Nothing is done until a time, or until something changes.
  ask_approval,  ///< A person has to allow it.
  ask,           ///< A person has to decide how it ended; or the policy threw when it was asked.
  tell_model,    ///< The model is told that its outcome is unknown, or was told before.
  refuse,        ///< It was never made, and is not: it is forbidden, or its tool is gone.
  give_up,       ///< It only reads, and is not made again: it has failed.
};

struct PlannedCall {
  Call call{};
  CallAction action = CallAction::ask;
  std::string why{};
  std::optional<Timestamp> until{};  ///< Of `wait`.
};

struct RecoveryPlan {
  /// What is done first about each call of the session without an outcome, in their order. What a tool
  /// will say when it is asked, and what of a dead process still runs, is not known before.
  std::vector<PlannedCall> calls{};
  /// Calls without an outcome of the sessions that a fork shares its log with. They are not the fork's
  /// to make again, to verify or to settle.
  std::vector<Call> inherited{};
  /// A response may have been lost: the model is asked again, and what was reserved counts as spent.
  bool asks_model_again = false;
};

/// What a plan goes by.
struct RecoveryRules {
  const Tools* tools = nullptr;  ///< Null: the agent is not known, and effect classes alone tell.
  const Policy& policy;
  Timestamp now{};
};

/// What a new owner would do first; does nothing. `row` and `state` are of one session, just read.
/// Fails: as the store's readers.
[[nodiscard]] Result<RecoveryPlan> plan_recovery(Store& store, const SessionSummary& row,
                                                 const State& state, const RecoveryRules& rules);

/// Whether the model may have been asked, and its response is not recorded. A request that was written
/// ahead of calls was not sent if the log does not say so, and the store lost nothing since.
/// Fails: as Upkeep::loss_token.
[[nodiscard]] Result<bool> has_lost_a_response(Store& store, const SessionSummary& row,
                                               const State& state);

}  // namespace perdure
