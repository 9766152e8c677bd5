// Decisions of people: delivered to a session's inbox, where they are durable, and at once into its log
// if no other process owns the session; an owner takes them at its next step. And which decision about a
// call is in force. Inbox messages are applied in order; one that arrives too late is logged without
// effect, and its sender is told.

#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "context/command_context.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {

struct CallWord {
  /// approved, denied or answered; succeeded, failed, retry or abandoned.
  std::string decision{};
  std::string who{};
  std::string why{};
};

/// "denied by ben (no money)".
[[nodiscard]] std::string words_for(const CallWord& word);

/// null, or {decision, who, reason}.
[[nodiscard]] Json as_json(const std::optional<CallWord>& word);

/// What `word` would take the place of, as the log has it: a word that says something else, and that
/// nobody acted on yet. Empty: there is none.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<CallWord>> find_overruled(Store& store, const Call& call,
                                                             const CallWord& word);

/// The denial that an approval would overrule: the last word about the call, if that is one and nobody
/// acted on it; also one that still lies in the inbox of an owner who lives.
/// Fails: as Log::read; as Inbox::list.
[[nodiscard]] Result<std::optional<CallWord>> find_denial(Store& store, const Call& call);

/// What a delivered decision takes the place of.
using Confirm = std::function<Result<std::optional<CallWord>>(std::optional<Position> since)>;

/// For Letter::confirm: succeeds if the decision in force is `word`, made by a letter with these members.
/// Fails: `conflict`, with the decision that is in force instead.
[[nodiscard]] Confirm confirm_in_force(Store& store, const Call& call, CallWord word,
                                       Json::Object members);

struct Letter {
  SessionId session{};
  std::string decision{};  ///< As it is told: "succeeded", "approved", "paused" …
  std::string about{};     ///< The call, or empty.
  std::string reason{};
  /// Whether a session that waits should be taken up again.
  bool wakes = false;
  std::string next = "resume";  ///< The verb that goes on, once it was taken in.
  std::string heard = "takes this up at the next step";  ///< What an owner that lives does with it.
  std::function<Result<void>(Mail&, const MessageId&)> post{};
  /// What it takes the place of. Asked once the letter was taken in, and then fails if something else
  /// stands; `since` is where the log ended before the letter was posted. Empty: it still waits.
  Confirm confirm{};
  /// How long to wait for an owner to take it up or to go: it may be somebody else who decides.
  Duration patience{0};
};

/// Delivers it, and says what became of it on the context.
/// Fails: as Inbox::post; as Runtime::open, except for an owner that lives; as Letter::confirm.
[[nodiscard]] Result<Exit> deliver(CommandContext& context, const Letter& letter);

/// Fails: `conflict` for a session that has ended or was moved.
[[nodiscard]] Result<void> check_goes_on(const CommandContext& context, const SessionSummary& row);

/// The option of approve, deny and resolve: CALL.
inline const Argument call_argument = {
    .name = "CALL",
    .summary = "SES:POSITION, or SES if only one call of it is pending",
    .by = Completes::call};
/// Longer than another person's decision takes; an owner that runs the session takes it up later.
inline constexpr Duration decision_patience{3000};

/// That a decision does not fit the state of the call; `wanted` is the advice.
[[nodiscard]] std::unexpected<Error> wrong_state(const Call& call, std::string_view wanted);
/// The commands that decide about a call that was not made yet.
[[nodiscard]] std::string decide_command(const CommandContext& context, const Call& call);
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
    "in "
    "doubt: perdure pending lists it, perdure resolve settles it.";

using PostStop = Result<void> (Mail::*)(const MessageId&, const std::string&, const std::string&);

/// Pauses or cancels the session that the command line names.
[[nodiscard]] Result<Exit> deliver_stop(CommandContext& context, std::string decision,
                                        PostStop post, std::string next);

}  // namespace perdure::cli
