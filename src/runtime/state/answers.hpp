// Which result answers which call of a message.
//
// A result that is marked with its call (calls.hpp) is told by that mark: the
// state knows which block an open call stands for, and the call of a message is intended
// after the message, so a mark before it means an earlier turn. The provider's id decides
// only among what is left.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure::history {

/// Calls whose answer left them in doubt, and their tools.
using DoubtsTold = std::map<Position, std::string>;

class Answers {
 public:
  /// `state` must outlive this. `in_doubt`: what earlier answers left so.
  explicit Answers(const State& state, DoubtsTold in_doubt = {});

  /// One result for each tool_call of `message`, in order: found in `after`, the messages up to
  /// the next of an assistant, or a statement. Each has the id of its call.
  [[nodiscard]] std::vector<ToolResultBlock> of(const PlacedMessage& message,
                                                std::span<const PlacedMessage> after);

  /// The outcome of a call that an earlier answer left in doubt, as text; empty for any other
  /// result. Told once.
  [[nodiscard]] std::optional<TextBlock> tell_late(const ToolResultBlock& result);

  /// What the answers so far left in doubt.
  [[nodiscard]] const DoubtsTold& in_doubt() const { return in_doubt_; }

 private:
  [[nodiscard]] const OpenCall* find_open(Position message, std::size_t block) const;
  [[nodiscard]] std::string statement(Position message, const OpenCall* open) const;

  std::map<std::pair<Position, std::uint64_t>, const OpenCall*> open_;
  Position unreadable_upto_ = 0;  // The last entry of channel `calls` that was passed over.
  DoubtsTold in_doubt_;
};

}  // namespace perdure::history
