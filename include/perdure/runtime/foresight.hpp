// What a resume would do about calls that were left without an outcome: told by the rules that the
// dispatcher itself goes by, and before anything is done.

#pragma once

#include <cstdint>

#include "perdure/core/time.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {

/// What is done first. What a tool answers when it is asked, and what of a dead process still runs,
/// nobody can tell before.
enum class Prospect : std::uint8_t {
  run,         ///< It was not made yet.
  run_again,   ///< It did nothing, or does it once for one key, or somebody decided so.
  verify,      ///< Its tool is asked whether it took effect.
  ask,         ///< Somebody has to decide, or to allow it.
  tell_model,  ///< The model is told that nobody knows, or was told before.
  refuse,      ///< It was not made, and no longer can be: its tool or its arguments are gone.
};

class Foresight {
 public:
  /// `tools` must outlive it. `now` is compared with what the log says.
  Foresight(const Tools& tools, OnDoubt on_doubt, Timestamp now)
      : tools_(tools), on_doubt_(on_doubt), now_(now) {}

  /// Of a call that is open in the session's state; of any other, the next one of its kind.
  [[nodiscard]] Prospect of(const State& state, const Call& call) const;

 private:
  const Tools& tools_;
  OnDoubt on_doubt_;
  Timestamp now_;
};

}  // namespace perdure
