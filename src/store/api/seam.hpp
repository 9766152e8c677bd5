// What our layers compute from the seam of a store (perdure/store/*.hpp), and a user has no need
// of.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

/// If the entry's body is a reference to a blob, puts the blob's text in its place. A blob that is
/// missing or damaged makes the entry `damaged`: it is passed over, and the session stays readable.
/// Entries that are not intact are left alone.
/// Fails: as Blobs::get, except `not_found` and `corrupted`.
[[nodiscard]] Result<void> load_blob(Blobs& blobs, Entry& entry);

/// Whether a message of that kind decides about calls, or says that nothing of them runs any more:
/// an approval, a resolution, the note of a worker's end. They count only in the store they were
/// posted to.
[[nodiscard]] constexpr bool is_decision(std::string_view kind) {
  return kind == "approve" || kind == "resolve" || kind == "ended_worker";
}

/// How many of a session's versions Upkeep::prune would remove now. `versions`: all of them, the
/// newest first, as Log::checkpoints lists them.
[[nodiscard]] std::uint64_t count_prunable(const std::vector<Checkpoint>& versions,
                                           const Keep& keep);

/// Where an import sets the metadata of a session aside.
inline constexpr std::string_view imported_member = "imported";

/// The sessions that `move_sessions` would move, relatives among them, as far as the source alone
/// can tell; those that were moved to `options.place` before are left out. Changes nothing.
/// Fails: as `move_sessions`.
[[nodiscard]] Result<std::vector<SessionId>> plan_move(Store& from,
                                                       const MoveOptions& options = {});

}  // namespace perdure
