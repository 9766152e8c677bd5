// The checkpointer of the book's chapter 21, over a store, for a loop of your own.
//
// The loop hands in its transcript, its plan and what it spent after a turn; a version costs what
// changed. It asks before it runs a tool: the same tool and arguments are one operation in a
// session and its forks, whose result comes back the second time, and which may not run while its
// outcome is unknown.
//
// One process at a time has a session: the one that started or loaded it. Any method that writes
// also fails as Store::commit does, and with `conflict` if the session must be started or loaded
// first; after `commit_unknown` call it again, after `lease_lost` start or load the session again.
// Threads: any method from any thread at any time.

#pragma once

#include <cstdint>
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
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// How the checkpointer appears to others, and what it takes time and ids from.
struct CheckpointerOptions {
  /// How long a process on another machine must wait after this one died.
  Duration lease_time{30'000};
  /// Both must outlive the checkpointer. Null: the machine's.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
  std::int64_t pid = 0;  ///< As others see the holder of a session; 0: this process.
};

/// The sessions of one store that this process saves.
class Checkpointer {
 public:
  /// What a version holds.
  struct Content {
    RawJson transcript = RawJson::from_value(Json::Array{});  ///< A list of messages: any JSON.
    std::optional<RawJson> plan{};
    std::int64_t spent_micros = 0;  ///< In all; millionths of a dollar.
    bool operator==(const Content&) const = default;
  };

  /// A call that a model asks for, and which other calls are the same operation.
  struct ToolCall {
    std::string call_id{};  ///< The provider's: shown, and never identity.
    std::string tool_name{};
    RawJson args = RawJson::from_value(Json::Object{});
    Repeat repeat = Repeat::once_per_session;
    std::string business_key{};       ///< As Tool::business_key.
    std::string input_schema = "{}";  ///< As Tool::input_schema.
    EffectClass effect = EffectClass::unsafe;
  };

  /// The caller runs it, and then says what became of it.
  struct MayRun {
    Position call = 0;  ///< Its name from now on.
    std::string key{};  ///< For the vendor's Idempotency-Key.
  };
  /// It was done.
  struct Completed {
    SessionId session{};
    Position call = 0;
    std::string call_id{};
    std::string tool_name{};
    /// Empty: erased, or gone with its session.
    std::optional<std::string> result{};
    bool is_error = false;  ///< It ran, and its answer is that of an error.
  };
  /// A caller may run it, and has not recorded its outcome, or gave it up (`abandoned`).
  struct Pending {
    SessionId session{};
    Position call = 0;
    std::string call_id{};
    std::string tool_name{};
    std::optional<std::string> args{};  ///< As they were given; empty: erased, or gone.
    std::string idempotency_key{};
    EffectClass effect = EffectClass::unsafe;
    CallState state = CallState::in_doubt;
    bool is_running = false;  ///< That caller is live.
    std::optional<Timestamp> issued_at{};
    std::string why{};  ///< What is known about the doubt.
  };
  using Issued = std::variant<MayRun, Completed, Pending>;

  /// What a session holds.
  struct Loaded {
    Version version = 0;  ///< The latest there is; 0: none.
    Content content{};
    /// Calls that were done after that version, which the transcript does not have.
    std::vector<Completed> done_since{};
    /// Entries that cannot be read, damaged or erased: the content lacks them.
    std::vector<Position> missing{};
  };

  /// Writes nothing yet. `store` must outlive this.
  explicit Checkpointer(Store& store, const CheckpointerOptions& options = {});
  /// Gives all sessions up; what was saved stays.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Makes the session, or takes it up. `opening` (system prompt, first question) is ignored if the
  /// session has messages. Starting one twice is not an error.
  /// Fails: `lease_held`, and names the owner; `conflict` if it has ended or is paused;
  /// `invalid_argument` if `opening` is not a list.
  Result<void> start_session(const SessionId& session,
                             const RawJson& opening = RawJson::from_value(Json::Array{}));

  /// Writes what changed, as a version, on disk when it returns.
  /// Fails: `invalid_argument` if the transcript is not a list, or is empty and was not, or if less
  /// was spent than before.
  Result<Version> save_checkpoint(const SessionId& session, const Content& content);

  /// Asks whether the call may run. `MayRun` is on disk when it returns, and given once: not to
  /// another process, and not after a restart.
  /// Fails: `conflict` if the business key was used with other arguments; `invalid_argument` for a
  /// bad name or arguments without a key.
  Result<Issued> record_tool_call_issued(const SessionId& session, const ToolCall& call);

  /// Records the outcome of a call. Only `Failed` and `Never`, which state that nothing happened,
  /// let it be issued again; an exception or a timeout is `Doubtful`. `who` resolves a call in
  /// doubt. The same outcome twice is not an error.
  /// Fails: `not_found`; `conflict` for another outcome than it has, or for `Failed` without `who`
  /// of a call in doubt; `invalid_argument` if `who` is not a name.
  Result<void> record_tool_call_result(const SessionId& session, Position call,
                                       const ToolOutcome& outcome, const std::string& who = {});

  /// The call that was done with the same tool and arguments; claims nothing.
  /// Fails: as record_tool_call_issued, for the arguments.
  [[nodiscard]] Result<std::optional<Completed>> find_completed_call(const SessionId& session,
                                                                     const ToolCall& call);

  /// What was saved last, and what was written since; takes the session up, unless it has ended or
  /// is paused. Empty: there is no such session, or nothing in it. Fails: `lease_held`.
  Result<std::optional<Loaded>> load_latest(const SessionId& session);

  /// Calls of the session without an outcome, oldest first; needs no lease. No such session: none.
  [[nodiscard]] Result<std::vector<Pending>> check_pending_tool_calls(const SessionId& session);

  /// Records how the session ended, and gives it up.
  /// Fails: `conflict` to `completed` or `failed` while a call has no outcome; `invalid_argument`
  /// for a status that does not end it.
  Result<void> end_session(const SessionId& session, Status status);

 private:
  struct Parts;
  // Owned alone; its deleter deletes nothing in a forked child.
  std::shared_ptr<Parts> parts_;
};

/// What a session held at a point, also one that another process has; without its calls.
/// Fails: `not_found`, also for a point that was pruned.
[[nodiscard]] Result<Checkpointer::Loaded> read_content(Store& store, const SessionId& session,
                                                        Point as_of);

}  // namespace perdure
