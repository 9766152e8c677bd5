// What a person calls a session, a point of it, or a call, and which one is meant.
//
//   SES    an id, a unique beginning of one (at least 4 characters), an exact title, or @last
//   POINT  SES@v7 (version), SES@2 (after turn 2), SES@2.1 (after step 1 of it), SES@2.0 (turn 2 was
//          opened), SES@head; SES alone is its head
//   CALL   SES:12, the position of its intent; SES alone if only one call of it is pending

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

/// Fails: `not_found`, also if more than one is meant: the message lists them.
[[nodiscard]] Result<SessionSummary> find_session(Store& store, const std::string& text);

struct PlaceInSession {
  SessionSummary session{};
  Point point{};
  std::string name{};                ///< "SES@v7", with the whole id.
  std::optional<Version> version{};  ///< If it was named by a version.
};

/// Fails: as find_session; `not_found` for a turn or step that is not there; `invalid_argument` for
/// a point that makes no sense.
[[nodiscard]] Result<PlaceInSession> find_point(Store& store, const std::string& text);

/// A session's only call that is pending; else the only one that is not made yet: a word that was
/// given can be taken back until it is. Fails: as find_session; as Ledger::read; `not_found` if there
/// is none, or several.
[[nodiscard]] Result<Call> find_call(Store& store, const std::string& text);

/// Calls without an outcome, of one session or of all.
[[nodiscard]] CallQuery unsettled_calls(const std::optional<SessionId>& session);

/// Those of them that are pending.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<Call>> read_pending(Store& store, const SessionSummary& session);

/// Whether somebody may have to decide about the call: in doubt, left by an owner that is gone, or
/// not made yet in a session that waits.
[[nodiscard]] bool is_pending(const Call& call, const SessionSummary& session);

}  // namespace perdure::cli
