// What every way to commit to a session shares: a write whose answer may be lost, and the one place
// where a change of status gets its entry in the log (session_values.hpp).
//
// A batch has an id, so a repeated commit gets the receipt of the first time: it is never made
// twice. SessionWriter and the checkpointer's HeldLog pass every batch through note_status, so no
// batch changes the status without saying who did, and why.

#pragma once

#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

/// Repeats `write` while it fails with `commit_unknown`. A full disk or a lost connection may pass; what
/// four tries did not settle is left to the caller.
template <class Write>
[[nodiscard]] auto surely(Write write) -> decltype(write()) {
  constexpr int tries_max = 4;
  for (int tries = 1;; ++tries) {
    auto done = write();
    const bool is_unknown = !done && done.error().code == ErrorCode::commit_unknown;
    if (!is_unknown || tries == tries_max) return done;
  }
}

/// Fails: as Store::commit.
[[nodiscard]] inline Result<Receipt> commit_surely(Store& store, const Lease& lease,
                                                   const Batch& batch) {
  return surely([&] { return store.commit(lease, batch); });
}

/// Who changed a status or settled a call, and why. Empty of a status: the worker; the reason that the
/// row gets. Empty of a call: it is its own outcome.
struct Reason {
  std::string who{};
  std::string why{};
};

/// A session's status, as its row has it, and as its log does.
struct StatusKnown {
  Status status = Status::active;
  std::string wait_reason{};
  Status in_log = Status::active;
  bool restored = false;  ///< From a bundle or a backup, and not taken up since.
  bool has_open_calls = false;
};

/// What a line says of the session's status; entries up to `inherited` speak of the fork's parent.
[[nodiscard]] Status status_in_log(const std::optional<StatusNote>& last, Position inherited);

[[nodiscard]] NewEntry status_entry(const StatusNote& note);

/// Adds the entry of the batch's change of status, if it is one: another status, or another reason.
/// A status that the row has and the log does not know yet is noted first. Where the session was
/// restored or imported, or had ended with open calls, an entry `voided` of channel `approvals` says
/// that what people decided about its calls before counts no more. It is not a `replace` entry, so no
/// prune drops it.
void note_status(Batch& batch, const StatusKnown& before, Reason reason);

}  // namespace perdure
