// An agent: a model, tools, and the loop between them, on the durable runtime.
//
//   input ─► request ─► response ─► calls ─► results ─► request … ─► answer
//
// Each arrow is a commit, and the loop keeps nothing that is not in the log: what to do next follows
// from the session's state alone. So a process may die anywhere, and the process that resumes the
// session continues with that very step. docs/agents.md says what ends a turn, and what is done with
// money, refused calls, cut-off responses, plans and messages that arrive meanwhile.
//
// A session is of the agent that it was begun with, known by its digest: a line for each part,
// `PART HASH` (agent_file.hpp makes one). Under another one it continues as OnChange says. The digests
// are compared before anything is done: nothing runs under a changed agent that no person accepted.
// Once it continues, all of it follows the new agent, calls that were left or are in doubt included.
//
// Threads: an Agent may be used by many; an AgentSession by one at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/agent/permissions.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// How a turn ended. Whatever the reason, the log is whole, and the session can be run again.
enum class TurnStop : std::uint8_t {
  completed,        ///< The model answered.
  max_iterations,   ///< Limits::iterations.
  deadline,         ///< Limits::time.
  budget,           ///< The next request could cost more than there is.
  incomplete_plan,  ///< It answered for the third time with an unfinished plan.
  loop,             ///< The same call was refused three times.
  needs_attention,  ///< A call is in doubt: a person has to resolve it.
  waiting,          ///< For an approval, an answer, or a time.
  interrupted,      ///< Stopped, paused or cancelled from outside.
  refused,          ///< The model, or its provider, will not answer.
};

[[nodiscard]] std::string_view to_string(TurnStop stop);

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
  std::string scratchpad_problem{};  ///< With the folder of its notes; empty: there is none.
};

/// Whether a response of the session came from a model without a price, in whichever process: its
/// cost is unknown, and the session's total is without it.
[[nodiscard]] bool has_unknown_cost(const State& state);
/// Of one response.
[[nodiscard]] bool has_unknown_cost(const Message& response);

// What an agent does, while it does it. What a model streams is not recorded yet: it may be cut off,
// and said again. What `Recorded` names is in the log, and stays.

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

/// A line of a tool that runs: without secrets, any bytes but line ends, recorded nowhere.
struct CallProgress {
  Position call = 0;
  std::string_view tool{};
  std::string_view line{};
};

/// Told one thing at a time, though calls and progress come on threads of their own; of one call in
/// their order, nothing after `CallReturned`. A tool does not wait while an observer hears of its
/// progress. What an observer throws is ignored.
class AgentObserver : public ModelObserver {
 public:
  virtual void on_event(const AgentEvent& event);
  virtual void on_progress(const CallProgress& progress);
};

/// An observer of lambdas: `session.run(input, {.on_text = [](std::string_view piece) { … }})`. One
/// that is empty is passed over.
struct ObserveWith {
  std::function<void(std::string_view piece)> on_text{};
  std::function<void(std::string_view piece)> on_reasoning{};
  std::function<void(const ToolCallBlock& call)> on_call{};
  std::function<void(const RetryNotice& notice)> on_retry{};
  std::function<void(const AgentEvent& event)> on_event{};
  std::function<void(const CallProgress& progress)> on_progress{};
};

/// What ends a turn before the agent is done. A session that a limit stopped gets fresh limits when
/// it is run again; a turn that a process left in the middle does not.
struct Limits {
  std::int64_t iterations = 50;  ///< Responses of the model, from the last word of a user on.
  /// Of a turn, as long as a process runs it; empty: none. It stops a response that is being received
  /// and calls that run, as a caller's stop does.
  std::optional<Duration> time{};
  std::int64_t cut_offs = 2;       ///< Responses in a row that were cut off, and asked for again.
  std::int64_t warn_percent = 80;  ///< Of the budget: the session is warned, once.
  bool operator==(const Limits&) const = default;
};

/// What is done when a session is resumed whose agent has changed.
enum class OnChange : std::uint8_t {
  go_on,   ///< Written "continue": with the new agent, and the log says so.
  ask,     ///< Only if a person accepts it.
  refuse,  ///< Not at all.
};

/// The parts that differ between two digests, sorted; empty: the same agent. Of one that is empty, or
/// not of this form, all parts do.
[[nodiscard]] std::vector<std::string> changed_parts(std::string_view recorded,
                                                     std::string_view now);

struct AgentSpec {
  /// Of sessions it begins. Its tools are the toolbox's. Sessions keep theirs, unless they continue
  /// under a changed agent.
  Setup setup{};
  Toolbox tools{};
  Permissions permissions{};
  OnDoubt on_doubt = OnDoubt::ask;
  Cadence cadence{};
  Limits limits{};
  std::optional<std::int64_t> budget_micros{};  ///< Of sessions it begins; empty: no limit.
  /// Where the notes of its sessions are also files: read by resume, written at the end of each run.
  /// Empty: nowhere.
  std::string scratchpad_folder{};
  Prices prices = Prices::built_in();
  /// A provider for one session. Throwing or returning null fails the turn before it begins.
  std::function<Result<std::unique_ptr<Provider>>(const Setup&)> make_provider{};
  std::string digest{};  ///< Empty: sessions are taken up whichever agent they were begun with.
  OnChange on_change = OnChange::ask;
};

struct AgentServices;

/// A session that this process runs, and the provider that knows its conversation.
class AgentSession {
 public:
  AgentSession(AgentSession&& other) noexcept;
  AgentSession& operator=(AgentSession&& other) noexcept;
  ~AgentSession();

  /// Runs until the agent rests, or something ends the turn. Without input it continues with what is
  /// left to do; if that is nothing, the report says how the last turn ended. Input cancels the calls
  /// that were not begun, unless one of them waits for a person's decision: then it waits, too. To
  /// run a session that is paused is to resume it.
  ///
  /// `stop`: text that came is recorded as partial, tools that run are asked to stop, what came of
  /// them is recorded: `interrupted`.
  /// Fails: as Provider::prepare; in the provider's words if no response comes, and then the session
  /// waits, and says why; `invalid_argument` for a budget and a model without a price, or if
  /// make_provider returned none; `unavailable` if the user's code threw; as Session's methods.
  Result<TurnReport> run(std::optional<Message> input, AgentObserver& observer,
                         const std::stop_token& stop = {});
  /// The same, watched by lambdas, or by nothing.
  Result<TurnReport> run(std::optional<Message> input = {}, const ObserveWith& observe = {},
                         const std::stop_token& stop = {});

  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] const Session& session() const { return session_; }

 private:
  friend class Agent;
  struct Held;
  AgentSession(Session session, Held held);

  Session session_;
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Held> held_;
};

struct ResumeOptions {
  Duration wait{0};        ///< For an owner that lives.
  std::stop_token stop{};  ///< Ends that wait: `lease_held`.
  /// The person who accepts that the session continues under a changed agent; the log keeps the name.
  /// Empty: no person does.
  std::string accepted_by{};
  bool accepts_damage = false;  ///< The model is asked without the entries that are damaged.
};

struct ResumedAgent {
  AgentSession session;
  RecoveryReport report{};             ///< Without calls: those are made by `run`.
  std::vector<std::string> changed{};  ///< Parts of the agent that are not as they were.
  std::string scratchpad_problem{};    ///< With the folder of its notes; empty: there is none.
};

class Agent {
 public:
  /// `store` must outlive it. Tools and policy of `options` are replaced by the spec's.
  /// Fails: `invalid_argument` without a way to make providers; as Runtime::start.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(Store& store, AgentSpec spec,
                                                            RuntimeOptions options = {});
  /// Its sessions must be gone by then.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Setup, budget and digest are the spec's, unless `session` has its own. Its input is recorded
  /// with it, and answered by `run` without input. Fails: as Runtime::create.
  [[nodiscard]] Result<AgentSession> begin(SessionSpec session = {});
  /// Takes the session up. Calls that an earlier process left are made by the next `run`.
  /// Fails: as Runtime::resume; `conflict` if its agent has changed, about "agent_changed" if a person
  /// may accept that, about "agent_refused" if not: then nothing was taken over, not even a dead
  /// owner's lease; `corrupted`, about "damage", if the model would be asked without what was there.
  [[nodiscard]] Result<ResumedAgent> resume(const SessionId& id, const ResumeOptions& options = {});

  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  [[nodiscard]] const AgentSpec& spec() const { return *spec_; }

 private:
  Agent(std::unique_ptr<const AgentSpec> spec, std::shared_ptr<const AgentServices> services);

  /// Whether the session may continue under this agent, as far as can be said without its lease.
  [[nodiscard]] Result<void> agree(const SessionId& id, const ResumeOptions& options);

  std::unique_ptr<const AgentSpec> spec_;  ///< At one place: policy and sessions refer to it.
  std::shared_ptr<const AgentServices> services_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace perdure
