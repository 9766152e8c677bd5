// Handing a decision to a session: into its inbox, where it is durable, and at once into its log if
// nobody owns the session. If somebody does, they take it up at their next step.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "desk.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "verbs/standing.hpp"

namespace perdure::cli {

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
  std::function<Result<std::optional<CallWord>>(std::optional<Position> since)> confirm{};
  /// How long to wait for an owner to take it up or to go: it may be somebody else who decides.
  Duration patience{0};
};

/// Delivers it, and says what became of it on the desk.
/// Fails: as Inbox::post; as Runtime::open, except for an owner that lives; as Letter::confirm.
[[nodiscard]] Result<Exit> deliver(Desk& desk, const Letter& letter);

/// Fails: `conflict` for a session that has ended or was moved.
[[nodiscard]] Result<void> check_goes_on(const Desk& desk, const SessionSummary& row);

}  // namespace perdure::cli
