// Sessions on their way: as one file, a bundle, for another machine, a colleague, an archive; or moved or
// copied from one store to another, of any two backends.
//
// A bundle is a copy. The sessions stay where they are and can go on there, so what comes out of
// a bundle does not go on by itself: unfinished sessions arrive paused and needing attention, as
// out of a backup, until somebody decides so. Nobody but that somebody knows whether the
// original goes on too; both would make their next calls under the same keys. To hand a session
// over for good, move it.
//
// Whoever made a bundle wrote the metadata of its sessions, and programs obey metadata: which
// server is asked with one's key, which folder notes are written to. So it is set aside: what was
// M is `{"imported": M}`, which nobody obeys. The same goes for what its calls say they did: see
// `accept_claims`.
//
// docs/reference/bundle-format.md is the format, byte by byte.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

inline constexpr std::uint64_t bundle_format = 1;

struct ExportOptions {
  /// Empty: all that are here. Whole families only: forks, children and whoever shares a log.
  std::vector<SessionId> sessions{};
  /// Take along whoever belongs to a family of one of them.
  bool with_relatives = false;
  /// Take sessions along that a check would complain about, as they are. Else they are refused.
  bool with_damage = false;
};

/// Where an import sets the metadata of a session aside.
inline constexpr std::string_view imported_member = "imported";

struct ImportOptions {
  /// Take in sessions that were damaged when they were exported. Else they are refused.
  bool with_damage = false;
  /// Take the metadata of sessions as it was: for bundles of one's own, that nobody else could write.
  bool with_metadata = false;
  /// Believe what the bundle says was done: its calls hold their keys here, and what they did is
  /// replayed and never done again. For bundles of one's own. Else they only claim their keys
  /// (Call::claimed): a call that meets such a claim is neither replayed nor made until a person decides.
  bool accept_claims = false;
};

struct BundleReport {
  std::vector<SessionId> sessions{};  ///< By age.
  std::uint64_t entries = 0;
  std::uint64_t commits = 0;
  std::uint64_t calls = 0;
  std::uint64_t messages = 0;
  std::uint64_t claims = 0;  ///< Keys that removed sessions hold.
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;  ///< Of the file.
  /// Over all of the file. The same sessions, unchanged, out of the same store have the same.
  Digest digest{};
  bool is_complete = true;  ///< False if it was told to stop: then there is nothing.

  bool operator==(const BundleReport&) const = default;
};

/// Writes sessions to a new file, as they are at one moment, and changes nothing in the store. The
/// file appears under its name when it is complete and on disk. What is erased meanwhile may still
/// be in it.
///
/// Ids, positions, versions, lines, receipts, ledger, inbox, times, totals and hashes are in it as
/// they are; blobs too; and the claims of removed sessions and the fences of resources, always all
/// of them, as `move_sessions` takes them along.
/// Fails: `already_exists` if there is a file; `not_found`; `lease_held` while a live worker owns one
/// of the sessions; `conflict` for one that was moved to another store, for one whose relatives are
/// not named (the subject is one of these), and if somebody writes to them again and again
/// meanwhile; `corrupted` for damage; `unavailable`.
[[nodiscard]] Result<BundleReport> export_sessions(Store& store, const std::string& path,
                                                   const ExportOptions& options = {},
                                                   const Progress& progress = {});

/// Reads all of a bundle and compares it with its sums. Needs no store.
/// Fails: `not_found`; `invalid_argument` for a file that is no bundle; `unsupported` for one of a newer
/// format; `corrupted` if it is torn or changed; `unavailable`.
[[nodiscard]] Result<BundleReport> check_bundle(const std::string& path,
                                                const Progress& progress = {});

/// Makes sessions of a bundle, all of them or none. All of it is checked before anything is written;
/// then it is taken in where nobody sees it, compared with the file fact by fact and with its own
/// hash chains; then all sessions are there at once, behind higher fences.
///
/// Killed in between, it leaves nothing that anybody sees, and the next import clears that
/// away. One import at a time: a second one takes the place of the first, which then
/// fails with `lease_lost`.
/// Fails: as `check_bundle`; `already_exists` for a session whose id is in use here; `conflict` for a
/// key that a call here holds; `corrupted` for damage from before. Then nothing is changed.
[[nodiscard]] Result<BundleReport> import_bundle(Store& store, const std::string& path,
                                                 const ImportOptions& options = {},
                                                 const Progress& progress = {});

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
