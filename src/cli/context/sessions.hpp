// What a person calls a session or a point of it, and which one is meant.
//
//   SES    an id, a unique beginning of one (at least 4 characters), an exact title, or @last
//   POINT  SES@v7 (version), SES@2 (after turn 2), SES@2.1 (after step 1 of it), SES@2.0 (turn 2 was
//          opened), SES@head; SES alone is its head
//
// The filter line of `sessions`: words that all must fit.
//
//   state:interrupted  tag:prod  title:refund*  tokens:>20000  cost:>0.5  turns:<3  steps:>100
//   active:<2h (last change)  age:>7d (creation)  "gift card" (in title or opening)
//   agent:refunds (the name of its file without .yaml, or its model)
//
// A dash in front means "not": -tag:test.
//
// Sessions that only go together, and how to say so.

#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "context/command_context.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"

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

using SessionTest = std::function<bool(const SessionSummary&)>;

/// Each argument may hold several words; one with spaces stands in double quotes.
/// Fails: `invalid_argument`, with the words there are.
[[nodiscard]] Result<SessionTest> filter_from(const std::vector<std::string>& arguments,
                                              Timestamp now);

/// If it is for want of a relative that a session cannot go: how that is taken along.
[[nodiscard]] std::unexpected<Error> with_hint_of_relatives(Error error, bool is_asked_for);

inline const Argument session_argument = {
    .name = "SES", .summary = "The session", .by = Completes::session};
inline const Argument point_argument = {
    .name = "POINT", .summary = "A session, or a point of it", .by = Completes::session};
/// The session that the first argument names, in the store of the command line.
/// Fails: as CommandContext::open; as find_session.
[[nodiscard]] Result<SessionSummary> named_session(CommandContext& context);
/// Changes what people call a session, and prints it.
/// Fails: as Sessions::annotate.
[[nodiscard]] Result<Exit> annotate_session(CommandContext& context, const SessionId& id,
                                            const Annotation& part);

}  // namespace perdure::cli
