// Where sessions are begun, taken up and forked: one worker of one store.
//
// A runtime is this process as a worker: it renews its lease in the background, and every session
// it hands out lives under it. A process that dies gives all of them up; on the same machine the
// next one takes over at once.
//
// Threads: every method may be called from any thread at any time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class Worker;

/// What is done about a call that an earlier process left without an outcome. The dispatcher, a
/// resume, its dry run and what a program prints go by the same decisions.
enum class CallAction : std::uint8_t {
  run,           ///< It was not made yet.
  replay,        ///< It is not made: it is done once, and another call did it.
  run_again,     ///< It did nothing, or does it once for one key, or a person decided so.
  verify,        ///< Its tool is asked whether it took effect.
  settle,        ///< Verify said that it took effect.
  wait,          ///< Nothing is done until a time, or until something changes.
  ask_approval,  ///< A person has to allow it.
  ask,           ///< A person has to decide how it ended; or the policy threw when it was asked.
  tell_model,    ///< The model is told that its outcome is unknown, or was told before.
  refuse,        ///< It was never made, and is not: it is forbidden, or its tool is gone.
  give_up,       ///< It only reads, and is not made again: it has failed.
};

struct PlannedCall {
  Call call{};
  CallAction action = CallAction::ask;
  std::string why{};
  std::optional<Timestamp> until{};  ///< Of `wait`.
};

struct RecoveryPlan {
  /// What is done first about each call of the session without an outcome, in their order. What a
  /// tool will say when it is asked, and what of a dead process still runs, is not known before.
  std::vector<PlannedCall> calls{};
  /// Calls without an outcome of sessions that this one was forked from: theirs to settle.
  std::vector<Call> inherited{};
  /// A response may have been lost: the model is asked again, and what was reserved counts as
  /// spent.
  bool asks_model_again = false;
};

/// What a plan goes by.
struct RecoveryRules {
  const Tools* tools = nullptr;  ///< Null: the agent is not known, and effect classes alone tell.
  const Policy& policy;
  Timestamp now{};
};

/// What a new owner would do first; does nothing. `row` and `state` are of one session, just read.
/// Fails: as the store's readers.
[[nodiscard]] Result<RecoveryPlan> plan_recovery(Store& store, const SessionSummary& row,
                                                 const State& state, const RecoveryRules& rules);

/// The state of any session as of a point. Needs no lease, and does not disturb its owner.
/// Fails: as Log::read.
[[nodiscard]] Result<State> read_state(Store& store, const SessionId& session, Point as_of);

/// What a fork does about a call that the response at its point asks for, without an outcome there.
enum class Carried : std::uint8_t {
  runs,     ///< It is a new call of the fork, with a key and an approval of its own.
  replays,  ///< So, but it is done once, and was done: the fork gets that result.
  told,     ///< It was begun, and its outcome is unknown: the fork's model is told what is known.
  refused,  ///< It was refused as soon as it was asked for, and is here for the same reason.
};
[[nodiscard]] std::string_view to_string(Carried as);

struct CarriedCall {
  Call call{};  ///< As the session that issued it has it; without one if that is gone.
  Carried as = Carried::told;
  Position position = 0;  ///< Of the fork's own call; 0: it has none, or is only foreseen.
};

struct Forked {
  SessionId id{};                    ///< Empty: it is only foreseen.
  Position position = 0;             ///< The last one that it shares.
  std::vector<CarriedCall> calls{};  ///< What it does first, in this order.
  /// Calls of the session after the point that took or may have taken effect: if the model asks for
  /// them again, they are made again.
  std::vector<Call> effects_after{};
};

/// What Runtime::fork would do now; does nothing.
/// Fails: as read_state; as Ledger::list.
[[nodiscard]] Result<Forked> foresee_fork(Store& store, const SessionId& from, Point at,
                                          bool fresh_effects = false);

/// Forked::effects_after of any position. Of a fork also those of its parents.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<Call>> effects_after(Store& store, const SessionId& session,
                                                      Position position);

struct RuntimeOptions {
  std::string host{};    ///< As others are told who holds a session; empty: this machine's name.
  std::int64_t pid = 0;  ///< 0: this process.
  Duration lease_time{30'000};
  bool renews_itself = true;  ///< False: its maker calls `renew`.
  Tools tools{};
  Policy policy{};
  Clock* clock = &system_clock();  ///< Must outlive the runtime; null: the machine's.
  IdSource* ids = &random_ids();   ///< The same.
};

/// A session to be begun.
struct SessionSpec {
  std::optional<SessionId> id{};  ///< Empty: a fresh one.
  Annotation annotation{};
  std::optional<Setup> setup{};
  std::optional<std::int64_t> budget_micros{};  ///< The most it may spend; empty: no limit.
  std::string agent_digest{};                   ///< Of the agent's definition.
  std::optional<Message> input{};               ///< There from the session's first moment.
};

struct ForkSpec {
  std::optional<SessionId> id{};
  Annotation annotation{};
  /// What was done once in the tree may be done again in the fork: a decision, and recorded.
  bool fresh_effects = false;
  /// In place of what the model was given before the point; all else of it is inherited.
  std::optional<std::string> system_prompt{};
  std::optional<std::string> model{};
};

/// What a process found when it took a session up, and what it did about it.
struct RecoveryReport {
  std::uint64_t entries = 0;     ///< Read, each once.
  std::uint64_t steps = 0;       ///< Model and tool calls that are not made again.
  bool lost_a_response = false;  ///< A request was open: it counts as spent until known.
  RecoveryPlan plan{};           ///< What is done about the calls that were left, as of then.
  CallsReport calls{};
  Duration took{0};
};

/// How a session is taken up.
struct ResumeSpec {
  std::optional<Message> input{};
  Duration wait{0};  ///< For a living owner, at most.
  std::stop_token stop{};
  bool runs_calls = true;  ///< False: Session::run_calls makes them later.
  /// Called when the session is held, and before anything is done with it. An error gives it back.
  std::function<Result<void>(Session&)> prepare{};
};

struct Resumed {
  Session session;
  RecoveryReport report{};
};

class Runtime {
 public:
  /// `store` must outlive it. Fails: as Ownership::enroll.
  [[nodiscard]] static Result<std::unique_ptr<Runtime>> start(Store& store,
                                                              const RuntimeOptions& options = {});
  /// Sessions that are still held must be gone by then.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// All that the spec says is the first commit: a session that is there is whole.
  /// Fails: as Store::create.
  [[nodiscard]] Result<Session> create(const SessionSpec& spec = {});

  /// Takes the session up where its log ends. A dead owner is no obstacle; for a living one, also
  /// another object of this process, it waits as long as told, or until it is asked to stop. Code
  /// of the session itself (a tool, a policy, an observer) would wait for itself: it is refused at
  /// once.
  /// Fails: `not_found`; `lease_held`, and says who holds it, where and since when.
  [[nodiscard]] Result<Session> open(const SessionId& id, Duration wait = Duration(0),
                                     const std::stop_token& stop = {});

  /// The session of that id, taken up as by `resume` without its calls, or else created as the spec
  /// says. The spec changes nothing in a session that is there. Of threads and processes that call
  /// this at the same time one creates it; the others open it once it is free, within `wait`.
  /// Fails: as create, but never `already_exists`; as resume, but never `not_found`.
  [[nodiscard]] Result<Session> open_or_create(const SessionId& id, SessionSpec spec = {},
                                               Duration wait = Duration(0));

  /// Takes the session up and does what its last owner left undone: a request without a response is
  /// recorded as spent, unconfirmed; the inbox is taken in; calls are run again, verified, or put
  /// in doubt, as their tools allow. Then appends the input. A session that has ended is not
  /// reopened. Asked to stop, it waits for no owner, and calls go as Session::run_calls says; what
  /// was recorded stays, the input is appended, and run_calls goes on with what is left.
  /// Fails: as open; as `prepare`; as Session::take_inbox; as Session::run_calls; `conflict` for
  /// input to a session that has ended.
  [[nodiscard]] Result<Resumed> resume(const SessionId& id, const ResumeSpec& spec = {});

  /// Where the session comes from, and its agent; needs no lease. Empty: it was never opened.
  /// Fails: as Log::read.
  [[nodiscard]] Result<std::optional<Origin>> origin_of(const SessionId& id);

  /// Whether the session is known to be of that agent; needs no lease and reads one entry. What
  /// `false` means only origin_of tells.
  /// Fails: as Log::find_value.
  [[nodiscard]] Result<bool> is_of(const SessionId& id, std::string_view agent_digest);

  /// A new session that shares everything up to the point, at no cost; needs no lease. What it
  /// changes is there from its first moment.
  ///
  /// If the response at the point asks for calls that have no outcome there, they are the fork's
  /// first commit: what was not begun, or ended after the point, is a call of its own, run,
  /// approved and paid for like any other; what is under way or in doubt in its own session is
  /// never run here, and the model is told. A point between a response and its calls means both.
  /// Fails: `not_found`; `already_exists`; as Store::create.
  [[nodiscard]] Result<Forked> fork(const SessionId& from, Point at, const ForkSpec& spec = {});

  /// Fails: as Ownership::renew.
  Result<void> renew();

 private:
  Runtime(Store& store, const RuntimeOptions& options, std::unique_ptr<Worker> worker);

  struct Grip;
  [[nodiscard]] Result<RecoveryReport> recover(Session& session);
  [[nodiscard]] Result<Grip> grip(const SessionId& id);
  [[nodiscard]] std::unique_ptr<SessionParts> parts_of(Grip grip, std::optional<Holder> before);
  [[nodiscard]] Result<Session> hold(Grip grip, SessionSummary row);
  [[nodiscard]] Result<std::unique_ptr<SessionParts>> parts_of_new(const SessionId& id);
  [[nodiscard]] Result<void> begin_fork(const NewSession& fork, const ForkSpec& spec, State state,
                                        std::vector<CarriedCall>& calls);

  Store& store_;
  const RuntimeOptions options_;
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Worker> worker_;
};

}  // namespace perdure
