// A tool: what it touches, whether it honours our key, how to ask whether it took effect. What a
// second run of it would mean (the effect class) follows from that and is never declared. A tool
// that declares nothing is `unsafe`. And the policy of a session: what it does by itself, whether a
// call may be made, and what a call waits for. The ledger (store/ledger.hpp) has the state of a
// call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

struct SelfAnswering;

/// What a run of a tool touches, as its author declares.
struct SideEffects {
  bool read = false;
  bool write = false;    ///< Something on this machine.
  bool network = false;  ///< Speaks to another machine: a request may land late.
  bool mutate = false;   ///< Something elsewhere.

  bool operator==(const SideEffects&) const = default;
};

/// When two calls with the same arguments are one operation.
enum class Repeat : std::uint8_t {
  each_call,         ///< Never.
  once_per_session,  ///< In one tree of forks and children.
  once_per_store,
};

/// How far a call is, reported while it runs, a line at a time. It is not recorded, and the model
/// does not see it. Of one call at most 2,000 lines are passed on, each cut to 500 bytes. A secret
/// is found in a line, not across two. Any thread of the tool may use it; lines after the tool has
/// returned are dropped.
class ToolProgress {
 public:
  using Tell = std::function<void(std::string_view line)>;

  /// Without an observer.
  ToolProgress() = default;
  explicit ToolProgress(Tell tell) : tell_(std::move(tell)) {}

  /// Does nothing without an observer.
  void operator()(std::string_view line) const {
    if (tell_) tell_(line);
  }
  [[nodiscard]] bool is_watched() const { return static_cast<bool>(tell_); }

 private:
  Tell tell_;
};

/// What a run of a tool knows about itself.
struct CallContext {
  SessionId session{};
  Position call = 0;
  const Json& args;
  /// For the vendor's Idempotency-Key: the same for every attempt of a call. After a call has
  /// failed, the next one under its key has another.
  std::string key{};
  Fence fence = 0;
  std::int64_t attempt = 1;
  std::optional<Timestamp> deadline{};
  std::stop_token stop{};   ///< Asked to stop: past the deadline, or this worker lost its lease.
  ToolProgress progress{};  ///< For observers.
};

/// It ran to its end.
struct Succeeded {
  std::string content{};  ///< Any bytes.
  bool is_error = false;  ///< It ran, and its answer is that of an error.
};
/// This run did nothing. If no earlier attempt may have taken effect, the call has failed, and may
/// be made again. Else it is tried again with the same key where its effect class allows that.
struct Failed {
  std::string why{};
};
/// The operation did not happen and will not, by this attempt or an earlier one: it has failed.
struct Never {
  std::string why{};
};
/// Its outcome is unknown: timed out, connection lost.
struct Doubtful {
  std::string why{};
};
using ToolOutcome = std::variant<Succeeded, Failed, Never, Doubtful>;

/// What a settled call with the same key came to: evidence for `verify`.
struct Twin {
  SessionId session{};
  Position call = 0;
  CallState state = CallState::succeeded;
};

/// What `verify` knows of the call that it is asked about.
struct VerifyContext {
  const Json& args;
  std::string key{};
  Timestamp dispatched_at{};
  std::int64_t attempt = 1;
  std::vector<Twin> twins{};
  std::optional<Timestamp> deadline{};
  std::stop_token stop{};
};

/// It took effect, and this is the result.
struct Landed {
  std::string content{};
  bool is_error = false;
};
/// It did not take effect so far. What was sent may still arrive: see Tool::in_flight_max.
struct NotLanded {};
/// Also if the evidence is ambiguous.
struct CannotTell {
  std::string why{};
};
using Verdict = std::variant<Landed, NotLanded, CannotTell>;

/// What ends what is left of a call knows about it.
struct LeftoverContext {
  SessionId session{};
  Position call = 0;
  std::string key{};  ///< As the attempts had it.
  std::stop_token stop{};
};

/// What further calls wait for while one is in doubt and the model was told so.
enum class Blocking : std::uint8_t { same_tool, same_arguments };

/// What a model may call, what that touches, and the code that does it. A value.
struct Tool {
  std::string name{};
  std::string description{};
  std::string input_schema = "{}";  ///< JSON Schema; its defaults count as given.

  /// Empty: undeclared.
  std::optional<SideEffects> side_effects{};
  bool honours_key = false;
  /// How long the vendor remembers a key; empty: for ever.
  std::optional<Duration> key_window{};
  Repeat repeat = Repeat::each_call;
  /// JSON pointer to the argument that names the business operation; empty: all arguments do.
  std::string business_key{};

  Duration timeout{60'000};
  Duration verify_timeout{10'000};
  /// How long a request may be under way after it was sent; for tools with `network`.
  Duration in_flight_max{120'000};
  /// Then a person is asked; a tool that only reads has failed.
  std::int64_t attempts_max = 3;
  Blocking blocking = Blocking::same_tool;

  /// Throwing is `Doubtful`: it states nothing. Runs on a thread of its own.
  std::function<ToolOutcome(const CallContext&)> run{};
  /// Whether the call took effect. Only reads. Throwing is `CannotTell`.
  std::function<Verdict(const VerifyContext&)> verify{};
  /// Ends what an earlier attempt may have left running on this machine. Called for a call without
  /// an outcome before it is verified, asked about, told of or resolved; within `verify_timeout`.
  /// Nothing left is not an error. Fails or throws: something may still run, so it is not verified.
  std::function<Result<void>(const LeftoverContext&)> end_leftovers{};
  /// Instead of run and verify, for Perdure's own tools that touch nothing but their session.
  std::shared_ptr<const SelfAnswering> answer{};
};

/// Nothing but reads: `read_only`. Else honours our key, or answered by its session: `idempotent`.
/// Else verify: `verifiable`. Else, or undeclared: `unsafe`.
[[nodiscard]] EffectClass effect_class_of(const Tool& tool);

/// The tools of a session, by name.
class Tools {
 public:
  Tools() = default;

  /// Fails: `invalid_argument` for a bad name, two of one name, or declarations that contradict
  /// each other: `honours_key` of a tool that only reads, a key window without `honours_key`,
  /// nothing to run, side effects of a tool that its session answers, limits below 1.
  [[nodiscard]] static Result<Tools> of(std::vector<Tool> tools);

  [[nodiscard]] const Tool* find(std::string_view name) const;

 private:
  std::map<std::string, Tool, std::less<>> by_name_;
};

/// About a call of which it is unknown whether it took effect.
enum class OnDoubt : std::uint8_t {
  ask,  ///< The session waits until a person resolves it.
  /// The model is told that the outcome is unknown, and continues; further calls of that tool are
  /// refused until it is resolved (Tool::blocking).
  tell_model,
};

/// From lax to strict.
enum class Permit : std::uint8_t { allow, ask, deny };

/// Whether a call may be made, and why not, or why a person is asked.
struct PermitDecision {
  Permit permit = Permit::deny;
  std::string why{};  ///< Empty for `allow`; of `deny`: what the model is told.
  bool operator==(const PermitDecision&) const = default;

  [[nodiscard]] static PermitDecision allow() { return {.permit = Permit::allow}; }
  [[nodiscard]] static PermitDecision ask(std::string why) {
    return {.permit = Permit::ask, .why = std::move(why)};
  }
  [[nodiscard]] static PermitDecision deny(std::string why) {
    return {.permit = Permit::deny, .why = std::move(why)};
  }
};

/// When a session names its head by itself. Everything committed survives a crash of the process
/// with any of these, and intents are always synced.
struct Cadence {
  enum class At : std::uint8_t {
    turn,    ///< At the end of every turn.
    call,    ///< After every call as well.
    period,  ///< At the end of a turn once `turns` or `time` have passed; the steps between are
             ///< synced with the next intent, or then.
  };
  At at = At::turn;
  std::int64_t turns = 10;
  Duration time{60'000};
};

/// A call that a response asks for.
struct ProposedCall {
  const Message& response;
  std::size_t block = 0;  ///< Which of its blocks; a tool_call.
  /// Of the response; 0: it is about to be recorded, after all of the state.
  Position message = 0;
  const Tool* tool = nullptr;  ///< Of that name; null: the session has none.

  [[nodiscard]] const ToolCallBlock& call() const {
    return std::get<ToolCallBlock>(response.blocks[block]);
  }
};

/// What a session does by itself, and what it asks for.
struct Policy {
  OnDoubt on_doubt = OnDoubt::ask;
  /// Whether a call may be made; empty: every call may. Asked when the response is recorded, also
  /// about unknown tools and arguments that are not JSON, and again before each dispatch, where it
  /// may only narrow what was recorded with the call's intent. If it throws, the call waits unmade,
  /// and run_calls fails until it does not.
  std::function<PermitDecision(const State& state, const ProposedCall& call)> permit{};
  Cadence cadence{};
  /// How long a tool that is asked to stop is waited for; then its call is in doubt, until it comes
  /// back.
  Duration stop_patience{10'000};
};

/// Why the session cannot continue by itself.
struct Waiting {
  enum class For : std::uint8_t {
    approval,  ///< A person has to allow the call before it is made.
    decision,  ///< It is in doubt: a person has to resolve it.
    time,      ///< It is asked again at `until`.
  };
  Position call = 0;
  std::string tool{};
  For what = For::decision;
  std::string why{};
  std::optional<Timestamp> until{};
};

/// What the dispatcher did about the calls of a session, as far as it could.
struct CallsReport {
  std::uint64_t run = 0;       ///< Attempts made, first and later ones.
  std::uint64_t retried = 0;   ///< Of these, attempts after the first of their call.
  std::uint64_t verified = 0;  ///< Asked whether they took effect.
  std::uint64_t replayed = 0;  ///< Answered by what another call had done already.
  std::uint64_t refused = 0;   ///< Not made: no such tool, bad arguments, blocked, not approved.
  std::uint64_t in_doubt = 0;  ///< Became in doubt, or still are.
  /// Empty: every call is answered and the model may be asked.
  std::optional<Waiting> waiting{};
};

}  // namespace perdure
