// Looking at a session without its lease: its line, its state, and what a fork of it would do again.
// Whoever runs it goes on meanwhile, and is not disturbed.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
/// Hands every entry up to the point to `take`, each once, in order, a page at a time. The head is
/// the one there was when it began: between two pages the owner may leave the line.
/// Fails: as Log::read; as `take`; `unavailable` if it throws.
[[nodiscard]] Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                                     const std::function<Result<void>(Entry&)>& take);

/// The state as of a point, of any session. A plan that a later one replaced is not looked into: if
/// it cannot be read, `skipped` does not say so.
/// Fails: as Log::read.
[[nodiscard]] Result<State> read_state(Store& store, const SessionId& session, Point as_of);

/// Positions of what the state lacks because the store is damaged: entries that cannot be read, and
/// calls of the session whose record in the ledger is gone. What was erased is not damaged.
/// Fails: as Ledger::read.
[[nodiscard]] Result<std::vector<Position>> find_damage(Store& store, const SessionId& session,
                                                        const State& state);

/// Whether an open request of a log that was read just now is known not to have been sent: it was only
/// written ahead, and nothing that the log said since can have been lost.
/// Fails: as Upkeep::loss_token.
[[nodiscard]] Result<bool> is_known_unsent(Store& store, const Request& request);

/// What a fork does about a call that the response at its point asks for, and that has no outcome
/// there.
enum class Carried : std::uint8_t {
  runs,     ///< It is a new call of the fork, with a key and an approval of its own.
  replays,  ///< So, but it is done once, and was done: the fork gets that result.
  told,  ///< Its session has begun it, and does not know its outcome, or gave it up. It is not run
         ///< in the fork, and the model is told what is known.
  refused,  ///< It was refused as soon as it was asked for, and is here for the same reason.
};
[[nodiscard]] std::string_view to_string(Carried as);

struct CarriedCall {
  Call call{};  ///< As the session that issued it has it; without one if that is gone.
  Carried as = Carried::told;
  Position position = 0;  ///< Of the fork's own call; 0: it has none, or is only foreseen.
};

struct Forked {
  SessionId id{};         ///< Empty: it is only foreseen.
  Position position = 0;  ///< The last one that it shares.
  /// What it does first, in this order: as soon as its calls are run.
  std::vector<CarriedCall> calls{};
  /// Calls of the session after the point that took or may have taken effect: if the model asks for
  /// them again, they are made again.
  std::vector<Call> effects_after{};
};

/// What Runtime::fork would do now; does nothing.
/// Fails: as read_state; as Ledger::list.
[[nodiscard]] Result<Forked> foresee_fork(Store& store, const SessionId& from, Point at,
                                          bool fresh_effects = false);

/// Calls that were asked for after the position, took or may have taken effect, and would be made
/// again by a fork made there whose model asks for them again. Of a fork also those of its parents.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<Call>> effects_after(Store& store, const SessionId& session,
                                                      Position position);

/// Where a line has come to: how many turns have ended, and how many steps of the next are done.
struct StepNumber {
  std::int64_t turn = 0;  ///< Of the turn that the entry belongs to, from 1.
  std::int64_t step = 0;  ///< 0: no step of it is done yet.
  bool operator==(const StepNumber&) const = default;
};

/// Numbers the entries of a line, told one after the other.
class StepCounter {
 public:
  /// A step, or the end of a turn, has the number that it completes.
  StepNumber take(const Entry& entry);

 private:
  StepNumber now_{.turn = 1};
  bool has_ended_ = false;
};

/// The position right after a turn (no step), after a step of it, or, for step 0, after what opened
/// it. What the same commit says of plan and money is included.
/// Fails: `not_found` if the line to the head has not come so far; as Log::read.
[[nodiscard]] Result<Position> find_step(Store& store, const SessionId& session, std::int64_t turn,
                                         std::optional<std::int64_t> step);

}  // namespace perdure
