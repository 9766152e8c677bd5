// What a person calls a session or a point of it, and which one is meant.
//
//   SES    an id, a unique beginning of one (at least 4 characters), an exact title, or @last
//   POINT  SES@v7 (version), SES@2 (after turn 2), SES@2.1 (after step 1 of it), SES@2.0 (turn 2 was
//          opened), SES@head; SES alone is its head

#pragma once

#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
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
  bool is_whole = false;             ///< The session was named, and no point of it.
};

/// Fails: as find_session; `not_found` for a turn or step that is not there; `invalid_argument` for
/// a point that makes no sense.
[[nodiscard]] Result<PlaceInSession> find_point(Store& store, const std::string& text);

}  // namespace perdure::cli
