// Looking at a session without its lease: its line, what of it is damaged, where its turns and steps
// end. Its owner continues meanwhile, undisturbed. And the conversation as a provider may be sent
// it, passed on piece by piece as it grows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
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

/// From a to b. What is missing on one side differs.
[[nodiscard]] Difference diff(const State& a, const State& b);

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

/// What is new of a conversation.
struct HistoryNews {
  std::size_t kept = 0;          ///< So many messages of what was told before are as they were.
  std::vector<Message> added{};  ///< All that follow them.
  bool has_more = false;         ///< Not all: the next update of the same state tells what follows.
};

/// provider_messages() of a state that grows, told piece by piece. A piece costs what is new in it: the
/// history before the last response is neither read nor kept here.
class GrowingHistory {
 public:
  /// What was passed on before, with `kept` and `added` of this one, is provider_messages(state).
  /// Much news comes in parts, so that there is never a second copy of a long conversation: each
  /// part is well-formed, and ends with the turn that brings it to `text_max` bytes.
  [[nodiscard]] HistoryNews update(const State& state,
                                   std::size_t text_max = std::numeric_limits<std::size_t>::max());

 private:
  /// The last response when it was told: all before it stays as it is, as long as it is there.
  struct Mark {
    std::size_t index = 0;  ///< Of the transcript.
    Position position = 0;
    std::size_t told = 0;                        ///< Messages before it.
    std::map<Position, std::string> in_doubt{};  ///< As the answers before it left them.
    std::map<Position, OpenCall> open{};         ///< Calls of messages before it.
    std::size_t skipped = 0;                     ///< Entries that were passed over.
  };

  [[nodiscard]] bool holds(const State& state) const;

  std::optional<Mark> mark_;
  std::vector<Message> tail_;  ///< What was told from the mark on.
};

}  // namespace perdure
