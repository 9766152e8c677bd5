// Moving sessions from one store to another, of any two backends, and copying them.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

struct MoveOptions {
  /// Empty: all. Whole families only: forks, children and sessions that share a log move together.
  std::vector<SessionId> sessions{};
  /// Move the relatives of these sessions too.
  bool with_relatives = false;
  /// What the source will say of where they are; empty: the target's location, without a password.
  std::string place{};
  /// Move sessions that a check would complain about, as they are. Else they are refused.
  bool with_damage = false;
};

struct MoveReport {
  std::uint64_t sessions = 0;  ///< Also those of an earlier move that this call finished.
  std::uint64_t entries = 0;
  std::uint64_t commits = 0;
  std::uint64_t calls = 0;
  std::uint64_t messages = 0;
  std::uint64_t claims = 0;   ///< Keys that removed sessions hold.
  std::uint64_t blobs = 0;    ///< Put by this call.
  std::uint64_t damaged = 0;  ///< Sessions that were damaged before.
  bool is_complete = true;  ///< False if the progress observer stopped it: then nothing is changed.

  bool operator==(const MoveReport&) const = default;
};

/// Moves sessions: ids, positions, versions, lines, receipts, ledger, inbox, times, totals and hashes
/// are in the target what they were in the source; numbers of segments are not. The facts are
/// taken into the target, where no one can list or run them, and compared fact by fact and against
/// their hash chains. Then the source marks all of them as moved, in one transaction, and only
/// if none has changed and no live worker owns one. Then the target releases them, behind higher fences.
/// In the source they stay readable, say where they are, and can be removed.
///
/// Killed at any moment, it leaves no session that can run in both stores, and calling it again
/// finishes the move. Both stores may be in use by others. If sessions change meanwhile, it begins
/// again, a few times.
///
/// Removed sessions' claims and the fences of resources are carried along as well, always all of them,
/// and stay in the source too.
/// Fails: `not_found`; `lease_held` while a live worker owns one of them; `conflict` for one that was moved
/// elsewhere, for one whose relatives are not named (the subject is one of these), for a key that a
/// call in the target holds, and if they change again and again; `already_exists` for an id that is in
/// use in the target; `corrupted` for damage (see `with_damage`); `invalid_argument` for a bad place.
/// Then everything is as before. `lease_lost` if another call took the same move over.
/// `unavailable`: call it again.
[[nodiscard]] Result<MoveReport> move_sessions(Store& from, Store& to,
                                               const MoveOptions& options = {},
                                               const Progress& progress = {});

/// The sessions that `move_sessions` would move, relatives among them, as far as the source alone can
/// tell; those that were moved to `options.place` before are left out. Changes nothing.
/// Fails: as `move_sessions`.
[[nodiscard]] Result<std::vector<SessionId>> plan_move(Store& from,
                                                       const MoveOptions& options = {});

/// Deletes what a killed move or copy left in the target. Not an error if there is none.
/// Fails: `conflict` if the source has marked the sessions as moved: move again instead.
[[nodiscard]] Result<void> abandon_move(Store& from, Store& to);

struct CopyOptions {
  SessionId id{};        ///< Of the copy.
  std::string reason{};  ///< Why it is paused; empty: a text that names the source.
  bool with_damage = false;
};

/// Copies a session as a paused fork: what it has on its active line is the fork's history in the
/// target, under a new id. Its tree's nonce is in that history, so what is done once in the tree is
/// done once. Calls of its family that have an outcome hold their keys in the target; those
/// without one stay with the source: the copy never runs them, and a call under such a key waits until
/// a person decides. Inbox, versions, receipts and children stay with the source, which is not changed.
/// Killed, it leaves nothing that can be listed or run in the target; the next call deletes it.
/// Fails: as `move_sessions`; `already_exists` for `options.id`.
[[nodiscard]] Result<MoveReport> copy_session(Store& from, const SessionId& session, Store& to,
                                              const CopyOptions& options,
                                              const Progress& progress = {});

}  // namespace perdure
