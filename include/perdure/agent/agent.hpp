// An agent: a model, tools, and the loop between them, on the durable runtime.
//
//   input ─► request ─► response ─► calls ─► results ─► request … ─► answer
//
// Each arrow is a commit, and what to do next follows from the session's state alone. So a process
// may die anywhere, and the one that resumes the session continues with that very step.
// docs/agents.md says what ends a turn, and what is done with money, refused calls, cut-off
// responses, plans and messages that arrive meanwhile.
//
// A session records the digest of its agent: a line for each part, `PART HASH`. Under another one
// it continues as OnChange says; this is decided before anything is done. Once it continues, all of
// it follows the new agent, open calls included.
//
// Threads: an Agent may be used by many; an AgentSession by one at a time.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// How a turn ended. In each case the log is whole, and the session can be run again.
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
  std::optional<Waiting> waiting{};  ///< For what, where a call waits.
  std::string scratchpad_problem{};  ///< With the folder of its notes; empty: there is none.
};

/// Whether a response of the session came from a model without a price: the session's total cost
/// does not include it.
[[nodiscard]] bool has_unknown_cost(const State& state);

// What an agent does, while it does it. Text that a model streams is not recorded yet, and may come
// again; what `Recorded` names is in the log.

/// A tool begins to run.
struct CallStarted {
  Position call = 0;
  std::string tool{};
  std::int64_t attempt = 1;
};
/// Its outcome is about to be recorded.
struct CallReturned {
  Position call = 0;
  std::string tool{};
};
/// What the model gets: an outcome, a refusal (`denied`), a doubt (`in_doubt`).
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
/// Most of the budget is used. Once for each limit.
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

/// Called for one thing at a time, from several threads; of one call in order, nothing after
/// `CallReturned`. A tool does not wait for an observer of its progress. What it throws is ignored.
class AgentObserver : public ModelObserver {
 public:
  virtual void on_event(const AgentEvent& event);
  virtual void on_progress(const CallProgress& progress);
};

/// An observer of lambdas: `session.run(input, {.on_text = [](std::string_view piece) { … }})`.
struct ObserveWith {
  std::function<void(std::string_view piece)> on_text{};
  std::function<void(std::string_view piece)> on_reasoning{};
  std::function<void(const ToolCallBlock& call)> on_call{};
  std::function<void(const RetryNotice& notice)> on_retry{};
  std::function<void(const AgentEvent& event)> on_event{};
  std::function<void(const CallProgress& progress)> on_progress{};
};

/// What ends a turn before the agent is done. Running the session again restarts the counts;
/// continuing a turn that a dead process left does not.
struct Limits {
  std::int64_t iterations = 50;  ///< Responses of the model, since the last message of a user.
  /// Of a turn, while a process runs it. It stops a streaming response and calls that run.
  std::optional<Duration> time{};
  std::int64_t cut_offs = 2;       ///< Responses in a row that were cut off, and asked for again.
  std::int64_t warn_percent = 80;  ///< Of the budget: the session is warned, once.
  bool operator==(const Limits&) const = default;
};

/// What is done when a session is resumed whose agent has changed.
enum class OnChange : std::uint8_t {
  go_on,   ///< Continue with the new agent, and record that.
  ask,     ///< Only if a person accepts it.
  refuse,  ///< Not at all.
};

/// The parts that differ between two digests, sorted; all, if one is not of this form.
[[nodiscard]] std::vector<std::string> changed_parts(std::string_view recorded,
                                                     std::string_view now);

struct AgentSpec {
  Setup setup{};  ///< Of sessions it begins; its tools are the toolbox's.
  Toolbox tools{};
  Permissions permissions{};
  OnDoubt on_doubt = OnDoubt::ask;
  Cadence cadence{};
  Limits limits{};
  std::optional<std::int64_t> budget_micros{};  ///< Of sessions it begins; empty: no limit.
  /// Where notes are also files: read by resume, written at the end of each run. Empty: nowhere.
  std::string scratchpad_folder{};
  Prices prices = Prices::built_in();
  /// A provider for one session. If it throws or returns null, the turn fails before it begins.
  std::function<Result<std::unique_ptr<Provider>>(const Setup&)> make_provider{};
  std::string digest{};  ///< Empty: it resumes sessions of any agent.
  OnChange on_change = OnChange::ask;
};

// An agent as a file: one YAML that says which model, which prompt, what it may use and do.
// docs/reference/agent-file.md has every key. Nothing is guessed: unknown and doubled keys are
// refused, and so is a scalar that YAML readers interpret differently (`no`, `010`, `1e3`).

/// Where an agent's tools run.
struct AgentPlace {
  Environment environment{};      ///< For the key, secrets, and variables that tools are passed.
  std::string state_folder{};     ///< Of this machine and user.
  std::string programs_folder{};  ///< As ExecSpec's state folder; empty: the one above.
  /// Whole paths that no tool for files and no sandboxed command sees, such as the files of the
  /// store: a tool that writes there could approve its own calls.
  std::vector<std::string> hidden{};
};

/// The agent of the file at `path`, for Agent::start. The key is read when a session is first run.
/// Its digest covers what the agent is or may do, not how far a session may go (budget, limits,
/// prices), nor its key and name.
///
/// No tool for files and no sandboxed command sees the files of the key, of secrets, of the state
/// folder, nor what `place` hides; none writes the agent's file, prompt, script and programs. Paths
/// that permissions deny are hidden from the tools for files.
///
/// Fails: `invalid_argument`, with a line for everything that is wrong, as
/// `path:line:column: what; what to write instead`, or for two tools of one name; `not_found` for a
/// file, a program or a variable that is not there; `unavailable` for a file that cannot be read.
[[nodiscard]] Result<AgentSpec> make_agent_spec(const std::filesystem::path& path,
                                                const AgentPlace& place,
                                                const ModelServices& services);

/// A session that this process runs, and the provider that knows its conversation.
class AgentSession {
 public:
  /// Runs until the agent rests, or something ends the turn. Without input it continues with what
  /// is left to do; if that is nothing, the report says how the last turn ended. Input cancels
  /// calls that were not begun; if one of them waits for a person's decision, the input waits, too.
  /// It resumes a paused session. `stop` ends it as `interrupted`, with what came recorded.
  /// Fails: as Provider::prepare; with the provider's message if no response comes (the session
  /// then waits), about "authority" if it refused the key; `invalid_argument` for a budget without
  /// a price, or no provider; `unavailable` if the user's code threw; as Session's methods.
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
  // Owned alone; the deleter deletes nothing in a forked child.
  std::shared_ptr<Held> held_;
};

struct ResumeOptions {
  Duration wait{0};             ///< For an owner that lives.
  std::stop_token stop{};       ///< Ends that wait: `lease_held`.
  std::string accepted_by{};    ///< Who accepts a changed agent; recorded. Empty: no person.
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
  /// `store` must outlive it. Tools and policy are the spec's.
  /// Fails: `invalid_argument` without make_provider; as Runtime::start.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(Store& store, AgentSpec spec,
                                                            RuntimeOptions options = {});
  ~Agent();  ///< Its sessions must be gone by then.
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Setup, budget and digest are the spec's, unless `session` has its own. `run` without input
  /// answers its input. Fails: as Runtime::create.
  [[nodiscard]] Result<AgentSession> begin(SessionSpec session = {});
  /// Takes the session up; the next `run` makes the calls that an earlier process left.
  /// Fails: as Runtime::resume; `conflict` if its agent has changed, about "agent_changed" if a
  /// person may accept that, else "agent_refused": then not even a dead owner's lease was taken;
  /// `corrupted`, about "damage", if damaged entries would be missing from what the model is asked.
  [[nodiscard]] Result<ResumedAgent> resume(const SessionId& id, const ResumeOptions& options = {});

  [[nodiscard]] Runtime& runtime();

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace perdure
