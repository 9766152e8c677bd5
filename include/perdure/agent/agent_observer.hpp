// What an agent does, while it does it: for a terminal, a server, a test.
//
// What a model streams is not recorded yet: it may be cut off, and be said anew. What `Recorded`
// names is in the log, and stays. An observer cannot change anything: what it throws is ignored, each
// time, and reported nowhere; what it misses is in the log as well.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "perdure/agent/provider.hpp"
#include "perdure/agent/turn_report.hpp"
#include "perdure/runtime/calls_report.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

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
/// The session cannot go on by itself.
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

/// A line of a tool that runs (runtime/tool_progress.hpp): of its output, if it is a program. Without
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
