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

#include "context/command_context.hpp"

namespace perdure::cli {

/// Fails: `not_found`, also if more than one is meant: the message lists them.
[[nodiscard]] Result<SessionSummary> find_session(Store& store, const std::string& text);

/// Fails: as Sessions::list; `corrupted` if none can be read.
[[nodiscard]] Result<std::vector<SessionSummary>> all_sessions(Store& store);

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

/// Each argument may hold several words; one with spaces is in double quotes.
/// Fails: `invalid_argument`, with the words there are.
[[nodiscard]] Result<SessionTest> filter_from(const std::vector<std::string>& arguments,
                                              Timestamp now);

/// If it is for want of a relative that a session cannot go: how that is taken along.
[[nodiscard]] std::unexpected<Error> with_hint_of_relatives(Error error, bool is_asked_for);

inline const Argument session_argument = {
    .name = "SES", .summary = "The session", .by = Completes::session};
inline const Argument sessions_argument = {.name = "SES",
                                           .summary = "Only these sessions; all if none is named",
                                           .count = Argument::Count::any,
                                           .by = Completes::session};
inline const Argument point_argument = {
    .name = "POINT", .summary = "A session, or a point of it", .by = Completes::session};
using SessionVerb = std::function<Result<Exit>(CommandContext&, Store&, const SessionSummary&)>;
/// A verb that works with the session that its first argument names.
[[nodiscard]] RunVerb on_session(SessionVerb run);

using PointVerb = std::function<Result<Exit>(CommandContext&, Store&, const PlaceInSession&)>;
/// A verb that works with the point that its first argument names.
[[nodiscard]] RunVerb on_point(PointVerb run);

/// The sessions that the arguments name from this one on.
/// Fails: as find_session.
[[nodiscard]] Result<std::vector<SessionSummary>> named_sessions(CommandContext& context,
                                                                 Store& store, std::size_t first);
/// Changes what people call a session, and prints it.
/// Fails: as Sessions::annotate.
[[nodiscard]] Result<Exit> annotate_session(CommandContext& context, Store& store,
                                            const SessionId& id, const Annotation& part);

}  // namespace perdure::cli
