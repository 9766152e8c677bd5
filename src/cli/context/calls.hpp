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
  approval,  ///< It was not made yet, and somebody was asked whether it may be.
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

/// Calls without an outcome that wait for somebody, however their session stands; of one session or of
/// all. Those of sessions that were moved wait there. Where a session's state cannot be read, what
/// its row and its ledger say counts, and `unread` says why.
/// Fails: as Ledger::list; as Sessions::read.
[[nodiscard]] Result<std::vector<PendingCall>> read_pending(Store& store,
                                                            const std::optional<SessionId>& only,
                                                            std::optional<Error>* unread = nullptr);

/// Of a session's calls the one that has one of these needs; if none has, the only one that is pending,
/// so that a verb can say what is to be done with it instead. If nothing is pending, and approvals are
/// meant, the only one that is not made yet: a word can be taken back until it is.
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

/// What somebody is asked to allow or to answer: a question's words, or a call with all its arguments.
/// Empty if nobody can tell any more.
[[nodiscard]] std::string asked_words(const State& state, Position call);

/// Of a tool whose calls are questions to people.
[[nodiscard]] bool asks_people(std::string_view tool);

}  // namespace perdure::cli
