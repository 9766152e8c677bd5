// What a store refuses before it looks at anything stored. Every backend asks
// here, so that all of them refuse the same things in the same words.

#pragma once

#include <cstddef>
#include <expected>
#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure::rules {

[[nodiscard]] Result<void> check(const Annotation& annotation);
[[nodiscard]] Result<void> check(const StatusChange& change);
[[nodiscard]] Result<void> check(const NewSession& session);
[[nodiscard]] Result<void> check(const NewWorker& worker);
[[nodiscard]] Result<void> check(const InboxMessage& message);
[[nodiscard]] Result<void> check(const Batch& batch);
[[nodiscard]] Result<void> check(const SessionQuery& query);
[[nodiscard]] Result<void> check(const LogQuery& query);
[[nodiscard]] Result<void> check(const CheckpointQuery& query);
[[nodiscard]] Result<void> check(const CallQuery& query);
[[nodiscard]] Result<void> check(Durability durability);
/// A batch that intends or dispatches a call is synced now, whatever it says.
[[nodiscard]] Sync sync_of(const Batch& batch);

/// Who owns a session, and where it ends.
struct Standing {
  std::optional<WorkerId> owner;
  Fence fence = 0;
  Position head = 0;
};
/// Fails: `lease_lost`; `conflict` for another head.
[[nodiscard]] Result<void> check_right_to_write(const Standing& standing, const Lease& lease,
                                                const Batch& batch);

/// Completed or failed: says of itself that nothing of it is open any more. What is cancelled does not.
[[nodiscard]] bool is_settled_end(Status status);
/// Whether the batch intends or dispatches a call, or creates a session.
[[nodiscard]] bool begins(const Batch& batch);
/// A session that has ended, and is not reopened by the batch itself, begins nothing. What was
/// started before may still be recorded.
/// Fails: `conflict` if the batch begins something.
[[nodiscard]] Result<void> check_begins(const Batch& batch, Status before);
/// Why a batch may not complete a session, or let it fail: `call` has no outcome, the batch applied.
[[nodiscard]] std::unexpected<Error> refuse_end(const SessionId& session, Position call);

[[nodiscard]] Result<void> check_limit(std::size_t limit);
[[nodiscard]] Result<void> check_resource(const std::string& name);

}  // namespace perdure::rules
