// What our other layers do with sessions and a user's program need not: tools that a session answers
// itself, what a new owner would do, a change of agent, the folder of the scratchpad.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

/// While it lives, this thread runs code that a session calls (a tool, its verify, a policy, a
/// provider, an observer) and that the given lease holds. That code would wait for itself if it
/// opened the same session, so Runtime::open refuses at once. The runtime and the agent loop have
/// one wherever they call code of the user; a program that starts a thread there passes `current`
/// on to it.
class OnBehalf {
 public:
  explicit OnBehalf(Lease lease);
  ~OnBehalf();
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;

  /// Whether this thread runs code of the session while that worker holds it.
  [[nodiscard]] static bool is_of(const SessionId& session, std::string_view worker);
  /// The innermost on this thread.
  [[nodiscard]] static std::optional<Lease> current();

 private:
  const Lease lease_;
  const OnBehalf* const outer_;
};

/// How much of a tool's progress is passed on.
inline constexpr std::size_t progress_line_bytes_max = 500;
inline constexpr std::size_t progress_lines_max = 2000;

/// A plan that replaces the present one; a note that is set or deleted, of text up to
/// scratch_inline_bytes_max.
using SessionChange = std::variant<Plan, ScratchEntry>;

/// The answer to a call that its own session answers: a plan that changes, a note that is kept, a
/// question that a person has answered. Nothing happens outside the session, so nothing can be in
/// doubt: the answer is computed from the state when the outcome is recorded, and its changes are
/// in the same commit. After a crash before that, it is computed again.
struct SessionAnswer {
  std::string content{};
  bool is_error = false;
  std::vector<SessionChange> changes{};
};

/// Pure: the same state gets the same answer. It may be called any number of times. If it throws,
/// the answer is an error.
using AnswerFunction =
    std::function<SessionAnswer(const State& state, Position call, const Json& args)>;

/// Tool::answer.
struct SelfAnswering {
  AnswerFunction function{};
};
[[nodiscard]] std::shared_ptr<const SelfAnswering> answered_by(AnswerFunction function);

/// Asks the tool of a call that is in doubt whether it took effect, and records the answer; nothing
/// else. For a person who wants to know before the session continues: a resume asks by itself where
/// the answer decides what is done. A call that took effect has ended, with the result that was
/// found. One that did not is made again by Session::run_calls, which asks again and knows whether
/// an earlier attempt may still take effect.
/// Fails: `not_found` if no such call is open; `conflict` if it is not in doubt, or its attempt
/// still runs; `unsupported` if its tool cannot be asked; as Store::commit.
[[nodiscard]] Result<Verdict> verify_call(Session& session, Position call);

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

struct ForkPlan {
  std::vector<CarriedCall> calls{};  ///< What the fork does first, in this order.
};

/// What the fork does about the calls around its point.
[[nodiscard]] const std::vector<CarriedCall>& calls_of(const Forked& forked);

/// What Runtime::fork would do now; without an id. Fails: as read_state; as Ledger::list.
[[nodiscard]] Result<Forked> foresee_fork(Store& store, const SessionId& from, Point at,
                                          bool fresh_effects = false);

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

/// What was decided of the calls that were left; empty if it is not known.
[[nodiscard]] const RecoveryPlan& plan_of(const RecoveryReport& report);

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

/// Forked::effects_after of any position. Of a fork also those of its parents.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<Call>> effects_after(Store& store, const SessionId& session,
                                                      Position position);

/// Where the session comes from, and its agent; needs no lease. Empty: it was never opened.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<Origin>> origin_of(Store& store, const SessionId& id);

/// Whether the session is known to be of that agent; needs no lease and reads one entry. What
/// `false` means only origin_of tells.
/// Fails: as Log::find_value.
[[nodiscard]] Result<bool> is_of(Store& store, const SessionId& id, std::string_view agent_digest);

/// The session continues under another agent: with its digest and its setup.
Result<void> set_agent(Session& session, const AgentChange& change, const Setup& setup);

/// Takes in what was edited by hand in the session's folder beneath `root`. Returns what is wrong
/// with the folder, in words; empty: nothing is.
/// Fails: as Store::commit, Log::read.
Result<std::string> read_scratch_folder(Session& session, const std::string& root);
/// The same, and then makes the folder what the log says.
Result<std::string> write_scratch_folder(Session& session, const std::string& root);

/// A session that is to work for another one, under that one's setup and grant. When it ends, the
/// parent learns of it through its inbox, and records the result and what the child did not spend.
/// A child that just stops keeps its grant. One that has ended may spend nothing more, also if it
/// is reopened.
struct ChildSpec {
  std::optional<SessionId> id{};  ///< Empty: a fresh one.
  Annotation annotation{};
  std::optional<Setup> setup{};
  std::optional<std::int64_t> grant_micros{};
  std::string agent_digest{};
};

/// A session of its own that works for `session`, with a part of its budget. Without a
/// grant it may spend nothing, or anything if `session` has no limit. It shares the scope of
/// effects. A child of it by that id, spawned before, is returned.
/// Fails: `conflict`, about "budget", beyond what is available; `conflict` in a session that is
/// paused or has ended; `already_exists` for the id of another session; `invalid_argument`.
[[nodiscard]] Result<SessionId> spawn(Session& session, const ChildSpec& spec);

[[nodiscard]] std::string_view to_string(Repeat repeat);
[[nodiscard]] std::optional<Repeat> repeat_from(std::string_view text);

}  // namespace perdure
