// Calls that wait for a person: which they are, what each of them waits for, which one is meant, and how a
// call is named in what people read and may copy.
//
//   CALL   SES:12, the position of its intent; SES alone if only one call of it is meant

#pragma once

#include "context/command_context.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure::cli {

enum class Need : std::uint8_t {
  decision,  ///< It is in doubt.
  resume,    ///< It was left by an owner that is gone.
  approval,  ///< It was not made yet, and a person was asked whether it may be.
  answer,    ///< It is a question.
};

[[nodiscard]] std::string_view to_string(Need need);

struct PendingCall {
  Call call{};
  Need need = Need::decision;
  std::string title{};  ///< Of its session, as is:
  std::string opening{};
  std::string args{};  ///< Empty if they cannot be read.
  std::string why{};   ///< Of a doubt.
};

/// Calls without an outcome that wait for a person, whatever their session's status; of one session
/// or of all. Those of sessions that were moved wait there. Where a session's state cannot be read,
/// what its row and its ledger say counts, and `unread` says why.
/// Fails: as Ledger::list; as Sessions::read.
[[nodiscard]] Result<std::vector<PendingCall>> read_pending(Store& store,
                                                            const std::optional<SessionId>& only,
                                                            std::optional<Error>* unread = nullptr);

/// Of a session's calls the one that has one of these needs; if none has, the only one that is pending,
/// so that a verb can say what is to be done with it instead. If nothing is pending, and approvals are
/// meant, the only one that is not made yet: a decision can be taken back until it is.
/// Fails: as find_session; as Ledger::read; `not_found` if none or several may be meant.
[[nodiscard]] Result<Call> find_call(Store& store, const std::string& text,
                                     const std::vector<Need>& needs);

inline const Argument call_argument = {
    .name = "CALL",
    .summary = "SES:POSITION, or SES if only one call of it is pending",
    .by = Completes::call};

using CallVerb = std::function<Result<Exit>(CommandContext&, Store&, const Call&)>;
/// A verb that works with the call that its first argument names.
[[nodiscard]] RunVerb on_call(std::vector<Need> needs, CallVerb run);

/// Null: it has ended, or is not known.
[[nodiscard]] const OpenCall* find_open_call(const State& state, Position call);

/// "SES:12", as the context shows ids.
[[nodiscard]] std::string shown_call(const CommandContext& context, const Call& call);

/// The command that settles a call in doubt.
[[nodiscard]] std::string settle_command(const CommandContext& context, std::string_view call);

/// The commands that allow or deny a call that was not made yet, or answer what it asks.
[[nodiscard]] std::string allow_command(const CommandContext& context, std::string_view tool,
                                        std::string_view call);

/// What a person is asked to allow or to answer: a question's text, or a call with all its
/// arguments. Empty if that is no longer known.
[[nodiscard]] std::string asked_words(const State& state, Position call);

/// Of a tool whose calls are questions to people.
[[nodiscard]] bool asks_people(std::string_view tool);

// Decisions of people: delivered to a session's inbox, where they are durable, and at once into its log
// if no other process owns the session; an owner takes them at its next step. And which decision about a
// call is in force. Inbox messages are applied in order; one that arrives too late is logged without
// effect, and its sender is informed.

struct CallWord {
  /// approved, denied or answered; succeeded, failed, retry or abandoned.
  std::string decision{};
  std::string who{};
  std::string why{};
};

/// "denied by ben (no money)".
[[nodiscard]] std::string words_for(const CallWord& word);

/// The denial that an approval would overrule: the last decision about the call, if that is one and
/// was not acted on; also one that is still in the inbox of a live owner.
/// Fails: as Log::read; as Inbox::list.
[[nodiscard]] Result<std::optional<CallWord>> find_denial(Store& store, const Call& call);

struct Letter {
  SessionId session{};
  CallWord word{};  ///< As it is shown; "paused" and "cancelled" too.
  /// What it is about, if that is a call. A session that waits for such a decision continues. Where
  /// an owner runs it, we wait a moment until it takes this in: another person may decide first.
  std::optional<Call> call{};
  Json::Object
      members{};  ///< Of its body: the log has it among the decisions about the call by them.
  std::string next = "resume";  ///< The verb that continues, once it was taken in.
  std::string heard = "takes this up at the next step";  ///< What an owner that lives does with it.
  std::function<Result<void>(Mail&, const MessageId&)> post{};
};

/// Delivers it, and says what became of it, and what it takes the place of, on the context.
/// Fails: as Inbox::post; as Runtime::open, except for an owner that lives; `conflict` if another
/// decision about the call is in force in its place, with that decision.
[[nodiscard]] Result<Exit> deliver(CommandContext& context, Store& store, const Letter& letter);

/// Only says what it would take the place of.
/// Fails: as Log::read.
[[nodiscard]] Result<Exit> deliver_dry(CommandContext& context, Store& store, const Letter& letter);

/// That a decision does not fit the state of the call; `wanted` is the advice.
[[nodiscard]] std::unexpected<Error> wrong_state(const Call& call, std::string_view wanted);
/// Fails: `conflict` unless the call is a question exactly if one is wanted. A "no" as an answer would
/// approve a call; a bare yes to a question would be its answer.
[[nodiscard]] Result<void> check_is_question(const CommandContext& context, const Call& call,
                                             bool is_wanted);

/// Whether a call may be made, or the answer to its question.
struct Permission {
  bool allow = false;
  bool overrules = false;  ///< A denial that was seen.
  std::string decision{};  ///< "approved", "denied" or "answered".
  std::string why{};
};

/// Fails: as deliver; `conflict` for a call that was made already.
[[nodiscard]] Result<Exit> deliver_permission(CommandContext& context, Store& store,
                                              const Call& call, const Permission& permission);

inline const Option reason_option = {.name = "reason", .value = "TEXT", .summary = "Why"};
inline constexpr std::string_view stop_details =
    "A model response and a tool call in progress are stopped. An unsafe call that was stopped is "
    "in doubt: perdure pending lists it, perdure resolve settles it.";

using PostStop = Result<void> (Mail::*)(const MessageId&, const std::string&, const std::string&);

/// A verb that pauses or cancels the session that its first argument names.
[[nodiscard]] RunVerb stops(std::string decision, PostStop post, std::string next);

}  // namespace perdure::cli
