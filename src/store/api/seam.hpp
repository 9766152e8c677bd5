// What our layers compute from the seam of a store (perdure/store/*.hpp), and a user has no need
// of.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

/// If the entry's body is a reference to a blob, puts the blob's text in its place. A blob that is
/// missing or damaged makes the entry `damaged`: it is passed over, and the session stays readable.
/// Entries that are not intact are left alone.
/// Fails: as Blobs::get, except `not_found` and `corrupted`.
[[nodiscard]] Result<void> load_blob(Blobs& blobs, Entry& entry);

/// Whether the blob is there, whatever its bytes.
[[nodiscard]] Result<bool> has_blob(Blobs& blobs, const BlobRef& ref);

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

struct CopyOptions {
  SessionId id{};        ///< Of the copy.
  std::string reason{};  ///< Why it is paused; empty: a text that names the source.
  bool with_damage = false;
};

/// Copies the active line of a session to a new, paused session. What is done once in its family is
/// done once: calls with an outcome hold their keys in the target; those without one are not run by
/// the copy, and a call under such a key waits for a person. Inbox, versions and children stay with
/// the source.
/// Fails: as `move_sessions`; `already_exists` for `options.id`.
[[nodiscard]] Result<MoveReport> copy_session(Store& from, const SessionId& session, Store& to,
                                              const CopyOptions& options,
                                              const Progress& progress = {});

/// As Store::doctor, of the server `postgres://…`, before there is a store. Makes nothing.
/// Fails: `invalid_argument` for another location; otherwise as open_store.
[[nodiscard]] Result<std::vector<Remark>> examine_server(const std::string& location);

}  // namespace perdure
