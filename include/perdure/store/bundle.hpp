// Sessions on their way: into a file (a bundle) and out of one, or from one store to another.
//
// A bundle is a copy; the sessions stay where they are. Those that are imported and unfinished are
// paused and need attention, as after a restored backup: the originals may go on, under the same
// keys. To hand a session over for good, move it. docs/reference/bundle-format.md is the format,
// byte by byte.
//
// Only whole families go together: forks, children and sessions that share a log.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

struct ExportOptions {
  std::vector<SessionId> sessions{};  ///< Empty: all.
  bool with_relatives = false;        ///< Also the rest of their families.
  bool with_damage = false;           ///< Also sessions that a check would complain about.
};

struct ImportOptions {
  bool with_damage = false;  ///< Also sessions that were damaged when they were exported.
  /// Keep the metadata of sessions, which programs obey. Else metadata M becomes `{"imported": M}`.
  /// For bundles that you made yourself.
  bool with_metadata = false;
  /// Believe what calls did: they hold their keys here, and are replayed. Else they only claim them
  /// (Call::claimed), and a call that meets such a claim waits for a person. For bundles as above.
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
  Digest digest{};          ///< Of the file. The same sessions, unchanged, give the same.
  bool is_complete = true;  ///< False if the progress observer stopped it: then there is nothing.
  bool operator==(const BundleReport&) const = default;
};

/// Writes sessions to a new file, as they are at one moment; the store is not changed. The file
/// appears under its name when it is complete and on disk. Blobs, the claims of removed sessions
/// and the fences of resources are in it too.
/// Fails: `already_exists` if there is a file; `not_found`; `lease_held` while a live worker owns
/// one of the sessions; `conflict` for one that was moved, for one whose relatives are not named
/// (the subject is one of these), and if they change again and again; `corrupted` for damage;
/// `unavailable`.
[[nodiscard]] Result<BundleReport> export_sessions(Store& store, const std::string& path,
                                                   const ExportOptions& options = {},
                                                   const Progress& progress = {});

/// Reads all of a bundle and compares it with its sums. Needs no store.
/// Fails: `not_found`; `invalid_argument` for a file that is no bundle; `unsupported` for a newer
/// format; `corrupted` if it is torn or changed; `unavailable`.
[[nodiscard]] Result<BundleReport> check_bundle(const std::string& path,
                                                const Progress& progress = {});

/// Makes sessions of a bundle, all or none, after all of it was checked. Killed in between, it
/// leaves nothing visible. One import at a time: a second one makes the first fail with
/// `lease_lost`.
/// Fails: as `check_bundle`; `already_exists` for a session whose id is in use here; `conflict` for
/// a key that a call here holds; `corrupted` for damage from before. Then nothing is changed.
[[nodiscard]] Result<BundleReport> import_bundle(Store& store, const std::string& path,
                                                 const ImportOptions& options = {},
                                                 const Progress& progress = {});

struct MoveOptions {
  std::vector<SessionId> sessions{};  ///< Empty: all.
  bool with_relatives = false;        ///< Also the rest of their families.
  std::string place{};  ///< What the source says of where they are; empty: the target's location.
  bool with_damage = false;  ///< Also sessions that a check would complain about.
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

/// Moves sessions with all that belongs to them, behind higher fences. In the source they stay
/// readable, say where they are, and can be removed. Both stores may be in use. Killed at any
/// moment, it leaves no session that can run in both, and calling it again finishes the move.
/// Fails: as `export_sessions`; `conflict` also for a key that a call in the target holds;
/// `already_exists` for an id that is in use in the target; `invalid_argument` for a bad place.
/// Then everything is as before. `lease_lost` if another call took the move over. `unavailable`:
/// call it again.
[[nodiscard]] Result<MoveReport> move_sessions(Store& from, Store& to,
                                               const MoveOptions& options = {},
                                               const Progress& progress = {});

/// Deletes what a killed move or copy left in the target. Not an error if there is none.
/// Fails: `conflict` if the source has marked the sessions as moved: move again instead.
[[nodiscard]] Result<void> abandon_move(Store& from, Store& to);

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

}  // namespace perdure
