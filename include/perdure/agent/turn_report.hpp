// How a turn ended. Whatever the reason, the session's log is whole, and the session can be run
// again: by another process, on another day.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/runtime/calls_report.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

enum class TurnStop : std::uint8_t {
  completed,        ///< The model answered.
  max_iterations,   ///< Limits::iterations.
  deadline,         ///< Limits::time.
  budget,           ///< The next request could cost more than there is.
  incomplete_plan,  ///< It answered for the third time with an unfinished plan.
  loop,             ///< The same call was refused refusals_max times (call_check.hpp).
  needs_attention,  ///< A call is in doubt: somebody has to resolve it.
  waiting,          ///< For an approval, an answer, or a time.
  interrupted,      ///< Stopped, paused or cancelled by somebody.
  refused,          ///< The model, or its provider, will not answer.
};

[[nodiscard]] std::string_view to_string(TurnStop stop);
[[nodiscard]] std::optional<TurnStop> turn_stop_from(std::string_view text);

struct TurnReport {
  TurnStop stop = TurnStop::completed;
  std::string why{};  ///< For a person; of `completed`, where its provider ended it.
  /// The text of the last response, whole or not, and before it what came until it was cut off.
  std::string answer{};
  bool is_cut_short = false;      ///< The answer ran into a limit of tokens: say "go on" for more.
  std::uint64_t responses = 0;    ///< That this run received, partial ones included.
  bool has_unknown_cost = false;  ///< A model without a price answered.
  Position head = 0;              ///< All up to here is recorded.
  std::optional<Waiting> waiting{};  ///< For what, where a call waits.
  /// What is wrong with the folder of its notes, in words; empty: nothing is.
  std::string scratchpad_problem{};
};

/// Whether a response of the session came from a model without a price, in whichever process: its
/// tokens are counted, its cost is unknown, and the session's total is without it.
[[nodiscard]] bool has_unknown_cost(const State& state);
/// Of one response.
[[nodiscard]] bool has_unknown_cost(const Message& response);

}  // namespace perdure
