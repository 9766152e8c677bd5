// How a turn ends, and what an observer sees while it runs. Whatever the reason for its end, the session's log is whole, and the session can be run
// again: by another process, on another day.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "perdure/agent/provider.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

enum class TurnStop : std::uint8_t {
  completed,        ///< The model answered.
  max_iterations,   ///< Limits::iterations.
  deadline,         ///< Limits::time.
  budget,           ///< The next request could cost more than there is.
  incomplete_plan,  ///< It answered for the third time with an unfinished plan.
  loop,             ///< The same call was refused refusals_max times (permissions.hpp).
  needs_attention,  ///< A call is in doubt: a person has to resolve it.
  waiting,          ///< For an approval, an answer, or a time.
  interrupted,      ///< Stopped, paused or cancelled from outside.
  refused,          ///< The model, or its provider, will not answer.
};

[[nodiscard]] std::string_view to_string(TurnStop stop);
[[nodiscard]] std::optional<TurnStop> turn_stop_from(std::string_view text);

struct TurnReport {
  TurnStop stop = TurnStop::completed;
  std::string why{};  ///< For a person; of `completed`, where its provider ended it.
  /// The text of the last response, whole or not, and before it what came until it was cut off.
  std::string answer{};
  bool is_cut_short = false;         ///< The answer ran into a limit of tokens: ask for more.
  std::uint64_t responses = 0;       ///< That this run received, partial ones included.
  bool has_unknown_cost = false;     ///< A model without a price answered.
  Position head = 0;                 ///< All up to here is recorded.
  std::optional<Waiting> waiting{};  ///< For what, where a call waits.
  /// What is wrong with the folder of its notes, in words; empty: nothing is.
  std::string scratchpad_problem{};
};

/// Whether a response of the session came from a model without a price, in whichever process: its
/// tokens are counted, its cost is unknown, and the session's total is without it.
[[nodiscard]] bool has_unknown_cost(const State& state);
/// Of one response.
[[nodiscard]] bool has_unknown_cost(const Message& response);

// What an agent does, while it does it: for a terminal, a server, a test.
//
// What a model streams is not recorded yet: it may be cut off, and said again. What `Recorded`
// names is in the log, and stays. An observer cannot change anything: what it throws is ignored, each
// time, and reported nowhere; what it misses is in the log as well.

/// A tool begins to run.
struct CallStarted {
  Position call = 0;
  std::string tool{};
  std::int64_t attempt = 1;
};
/// It has returned; what it said is about to be recorded.
struct CallReturned {
  Position call = 0;
  std::string tool{};
};
/// The model will be told this: an outcome, a refusal (`denied`), a doubt (`in_doubt`).
struct CallTold {
  Position call = 0;
  CallState state = CallState::succeeded;
  ToolResultBlock result{};
};
/// The session cannot continue by itself.
struct CallWaits {
  Waiting waiting{};
};
struct Recorded {
  Position head = 0;  ///< All up to here.
};
/// Most of the budget is used: told, and recorded, once for each limit.
struct BudgetWarning {
  std::int64_t limit_micros = 0;
  std::int64_t used_micros = 0;
};
/// No response came, or not its end; `goes_on`: the model is asked again.
struct ModelFailed {
  std::string why{};
  bool goes_on = false;
};
struct TurnEnded {
  TurnStop stop = TurnStop::completed;
  std::string why{};
};
using AgentEvent = std::variant<CallStarted, CallReturned, CallTold, CallWaits, Recorded,
                                BudgetWarning, ModelFailed, TurnEnded>;

/// A line of a tool that runs (runtime/calls.hpp): of its output, if it is a program. Without
/// secrets, as results are; any bytes but line ends. It is recorded nowhere.
struct CallProgress {
  Position call = 0;
  std::string_view tool{};
  std::string_view line{};
};

/// One at a time, though `CallStarted`, `CallReturned` and progress come on threads of their own, of
/// which several may run; of one call in that order, nothing after `CallReturned`. A tool does not
/// wait while an observer hears of its progress; its return does.
class AgentObserver : public ModelObserver {
 public:
  virtual void on_event(const AgentEvent& event);
  virtual void on_progress(const CallProgress& progress);
};

/// An observer of lambdas: `session.run(input, {.on_text = [](std::string_view piece) { … }})`. Each
/// is called as the method of that name is; one that is empty is passed over.
struct ObserveWith {
  std::function<void(std::string_view piece)> on_text{};
  std::function<void(std::string_view piece)> on_reasoning{};
  std::function<void(const ToolCallBlock& call)> on_call{};
  std::function<void(const RetryNotice& notice)> on_retry{};
  std::function<void(const AgentEvent& event)> on_event{};
  std::function<void(const CallProgress& progress)> on_progress{};
};

}  // namespace perdure
