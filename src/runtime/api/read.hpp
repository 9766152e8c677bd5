// Looking at a session without its lease: its line, what of it is damaged, where its turns and steps
// end. Its owner goes on meanwhile, and is not disturbed.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

/// Hands every entry up to the point to `take`, each once, in order, a page at a time. The head is
/// the one there was when it began: between two pages the owner may leave the line.
/// Fails: as Log::read; as `take`; `unavailable` if it throws.
[[nodiscard]] Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                                     const std::function<Result<void>(Entry&)>& take);

/// Whether `channel` is one that the fold has a member of State for.
[[nodiscard]] bool is_reserved(std::string_view channel);

/// Positions of what the state lacks because the store is damaged: entries that cannot be read, and
/// calls of the session whose record in the ledger is gone. What was erased is not damaged.
/// Fails: as Ledger::read.
[[nodiscard]] Result<std::vector<Position>> find_damage(Store& store, const SessionId& session,
                                                        const State& state);

/// Whether an open request of a log that was read just now is known not to have been sent: it was only
/// written ahead, and nothing that the log said since can have been lost.
/// Fails: as Store::loss_token.
[[nodiscard]] Result<bool> is_known_unsent(Store& store, const Request& request);

/// Whether the model may have been asked, and its response is not recorded. A request that was written
/// ahead of calls was not sent if the log does not say so, and the store lost nothing since.
/// Fails: as Store::loss_token.
[[nodiscard]] Result<bool> has_lost_a_response(Store& store, const SessionSummary& row,
                                               const State& state);

/// Whether a session that takes the mail in rests: a turn that runs need not come to its end first.
[[nodiscard]] bool stops_a_turn(const InboxMessage& mail);

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
