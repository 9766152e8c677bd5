// The one place where a change of status gets its entry in the log (state.hpp).
//
// Both ways to commit to a session, SessionWriter and the checkpointer's HeldLog, pass every batch
// through here, so no batch changes the status without saying who did, and why.

#pragma once

#include <optional>
#include <string>

#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Who changes a status, and why. Empty: the worker; the reason that the row gets.
struct StatusReason {
  std::string who{};
  std::string why{};
};

/// A session's status, as its row has it, and as its log does.
struct StatusKnown {
  Status status = Status::active;
  std::string wait_reason{};
  Status in_log = Status::active;
  bool restored = false;  ///< From a bundle or a backup, and nobody has taken it up since.
  bool has_open_calls = false;
};

/// What a line says of the session's status; entries up to `inherited` speak of the fork's parent.
[[nodiscard]] Status status_in_log(const std::optional<StatusNote>& last, Position inherited);

[[nodiscard]] NewEntry status_entry(const StatusNote& note);

/// Adds the entry of the batch's change of status, if it is one: another status, or another reason.
/// A status that the row has and the log does not know yet is noted first. Where the session was restored
/// or imported, or had ended with open calls, an entry `voided` of channel `approvals` says that what people decided about
/// its calls before counts no more. It is no `replace` entry, so no prune drops it.
void note_status(Batch& batch, const StatusKnown& before, StatusReason reason);

}  // namespace perdure
