// What a resume would do about what was left open: told by the rules that recovery and dispatcher
// themselves go by, and before anything is done.

#pragma once

#include <cstdint>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// What is done first. What a tool answers when it is asked, and what of a dead process still runs,
/// nobody can tell before.
enum class Prospect : std::uint8_t {
  run,         ///< It was not made yet.
  run_again,   ///< It did nothing, or does it once for one key, or somebody decided so.
  verify,      ///< Its tool is asked whether it took effect.
  ask,         ///< Somebody has to decide, or to allow it; or the policy threw when asked.
  tell_model,  ///< The model is told that nobody knows, or was told before.
  refuse,  ///< It was not made or only reads, and must not or can no longer be: it is forbidden, at
           ///< its limit of attempts, or its tool or its arguments are gone.
};

class Foresight {
 public:
  /// Both must outlive it. `now` is compared with what the log says.
  Foresight(const Tools& tools, const Policy& policy, Timestamp now)
      : tools_(tools), policy_(policy), now_(now) {}

  /// Of a call that is open in the session's state; of any other, the next one of its kind.
  [[nodiscard]] Prospect of(const State& state, const Call& call) const;

 private:
  [[nodiscard]] Prospect of_intended(const State& state, const OpenCall& open) const;

  const Tools& tools_;
  const Policy& policy_;
  Timestamp now_;
};

/// Whether the model may have been asked, and what it answered is not recorded: it is asked again,
/// and what was reserved counts as spent. One that was written ahead of calls was not asked if the log
/// does not say so, and the store lost nothing since. `row` and `state` are of one session, just read.
/// Fails: as Upkeep::loss_token.
[[nodiscard]] Result<bool> has_lost_a_response(Store& store, const SessionSummary& row,
                                               const State& state);

}  // namespace perdure
