// The conversation as a provider may be sent it, told piece by piece as it grows.

#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

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
  /// What was told before, with `kept` and `added` of this one, is provider_messages(state). Where much
  /// is new it is told in parts, so that nobody holds a second copy of a long conversation: each
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
