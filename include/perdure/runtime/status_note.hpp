// Who changed a session's status, and why.
//
// On channel `status`, one entry for each change, in the commit that makes it: of kind
// `session_resumed` (active again), `session_waiting`, `session_paused`, `session_completed`,
// `session_failed` or `session_cancelled`, with `{"who", "why"}`. A session begins as `active`; what
// its log says last is its status. Entries that a fork shares with its parent speak of the parent.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

struct StatusNote {
  Position position = 0;  ///< Of its entry.
  Status status = Status::active;
  std::string who{};  ///< A person, the id of a worker, `dispatcher`, `store` …
  std::string why{};
  Unknown unknown{};
  bool operator==(const StatusNote&) const = default;
};

/// The kind of its entry.
[[nodiscard]] std::string_view status_kind(Status status);
/// Without position and status, which the entry has.
[[nodiscard]] std::string to_json(const StatusNote& note);
/// Fails: `invalid_argument` for another kind, or text that is no note; `unsupported` for a newer
/// version.
[[nodiscard]] Result<StatusNote> status_note_from_json(std::string_view kind,
                                                       std::string_view text);

}  // namespace perdure
