// Where sessions are begun, taken up and forked. A runtime is this process as a worker of one store:
// it renews its lease in the background, and every session it hands out lives under it. When the
// process dies, another one on the same machine takes over at once.
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
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

struct RecoveryPlan;

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

/// A new session.
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
  std::shared_ptr<const RecoveryPlan> plan{};  ///< For Perdure's own programs.
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

  /// Takes the session up where its log ends. For a living owner, also another object of this
  /// process, it waits at most so long, or until it is asked to stop. Code that the session itself
  /// calls (a tool, a policy, an observer) would wait for itself: it is refused at once.
  /// Fails: `not_found`; `lease_held`, and says who holds it, where and since when.
  [[nodiscard]] Result<Session> open(const SessionId& id, Duration wait = Duration(0),
                                     const std::stop_token& stop = {});

  /// The session of that id, taken up as by `resume` without its calls, or else created as the spec
  /// says. Of threads and processes that call this at the same time one creates it; the others open
  /// it once it is free, within `wait`.
  /// Fails: as create, but never `already_exists`; as resume, but never `not_found`.
  [[nodiscard]] Result<Session> open_or_create(const SessionId& id, SessionSpec spec = {},
                                               Duration wait = Duration(0));

  /// Takes the session up and does what its last owner left undone: a request without a response is
  /// recorded as spent, unconfirmed; the inbox is taken in; calls are run again, verified, or put
  /// in doubt, as their tools allow. Then appends the input. A session that has ended is not
  /// reopened. Asked to stop, it waits for no owner, and calls stop as in Session::run_calls.
  /// Fails: as open; as `prepare`; as Session::take_inbox; as Session::run_calls; `conflict` for
  /// input to a session that has ended.
  [[nodiscard]] Result<Resumed> resume(const SessionId& id, const ResumeSpec& spec = {});

  /// A new session that shares everything up to the point, at no cost; needs no lease.
  /// Calls without an outcome at the point: what was not begun, or ended after it, is a call of the
  /// fork's own, run, approved and paid for like any other; what is under way or in doubt in its own
  /// session is never run here, and the model is told. A point between a response and its calls
  /// means both.
  /// Fails: `not_found`; `already_exists`; as Store::create.
  [[nodiscard]] Result<Forked> fork(const SessionId& from, Point at, const ForkSpec& spec = {});

  /// Fails: as Ownership::renew.
  Result<void> renew();

 private:
  struct Parts;
  explicit Runtime(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace perdure
