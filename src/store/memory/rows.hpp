// What several roles do to rows: showing a session with its holder, creating one,
// changing its annotation.

#pragma once

#include "memory/state.hpp"
#include "memory/undo.hpp"
#include "perdure/core/error.hpp"

namespace perdure::memory {

/// Whether it is on its way here, and its id taken.
[[nodiscard]] bool is_arriving(const State& state, const SessionId& id);

[[nodiscard]] bool is_alive(const State& state, const WorkerId& worker, Uptime uptime);

/// Fails: `lease_lost`.
[[nodiscard]] Result<void> require_live(const State& state, const WorkerId& worker, Uptime uptime);

/// Who the grant names, as people see it; empty if it names nobody.
[[nodiscard]] std::optional<Holder> holder_of(const State& state, const Grant& grant,
                                              Uptime uptime);

[[nodiscard]] SessionSummary shown(const State& state, const SessionTable& table, Uptime uptime);

void annotate(SessionSummary& row, const Annotation& part);

/// Opens the next segment of the store, for the session that was `owner`th to be born.
SegmentId open_segment(State& state, Undo& undo, Segment segment, std::uint64_t owner);

/// Fails: `invalid_argument` if the body refers to a blob that is not there.
[[nodiscard]] Result<void> require_blob(const State& state, const Body& body);

/// Adds a session that `rules::check` has passed.
/// Fails: `already_exists`; `not_found` if its origin does not exist.
[[nodiscard]] Result<void> add_session(State& state, Undo& undo, const NewSession& session,
                                       Timestamp now);

}  // namespace perdure::memory
