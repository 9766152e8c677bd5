// What a session's log says of its calls, as far as the ledger must agree with it.
//
// The runtime writes these records (runtime/calls.hpp, runtime/conversation.hpp), and the store reads a
// few of their members here, as the views `tool_calls` do. A log in other words is not judged.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure::bundle {

class ToldCalls {
 public:
  /// The entries of the session's own segments, in order.
  void add(const Entry& entry);
  /// Some of its entries were pruned.
  void add_gap() { is_whole_ = false; }

  /// How the log contradicts a call; empty if it does not. Each call once, after all entries.
  [[nodiscard]] std::string find_contradiction(const Call& call);
  /// After all calls: an intent or a result that belongs to none of them; empty if there is none.
  [[nodiscard]] std::string find_without_call() const;

 private:
  struct Told {
    Json intent{};
    std::int64_t attempts = 0;
    bool is_doubted = false;   ///< Since the last attempt.
    bool is_resolved = false;  ///< Without an attempt: a bundle's claim was accepted, or not.
    bool is_row_there = false;
    std::optional<CallState> ending{};
    std::set<Position> results{};
  };

  void add_record(const Entry& entry, const Json& record);
  void add_message(Position position, const Json& message);
  [[nodiscard]] std::string find_other_words(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_state(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_attempts(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_issue(const Call& call);
  [[nodiscard]] bool is_readable(Position position) const;

  std::map<Position, Told> calls_{};
  std::vector<Position> readable_{};
  bool is_whole_ = true;
  bool has_origin_ = false;
  // Of a checkpointer (adapters/checkpointer.hpp): its results do not name their calls.
  std::set<Position> issued_{};
  std::map<Position, CallState> endings_{};
  std::optional<Position> first_open_{};
};

}  // namespace perdure::bundle
