// Moving sessions: from one store to another, or through a file (a bundle).
//
// A bundle is a copy; the sessions stay where they are. Imported sessions that are unfinished are
// paused and need attention, because the originals may continue under the same keys.
// docs/reference/bundle-format.md is the format, byte by byte.
//
// Only whole families go together: forks, children and sessions that share a log. The functions
// below fail with `unavailable` if a file or a store cannot be reached.

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
  /// Keep the metadata of sessions, which programs obey: for bundles that you made yourself. Else
  /// metadata M becomes `{"imported": M}`.
  bool with_metadata = false;
  /// Believe what calls did: they hold their keys here, and are replayed. Else they only claim them
  /// (Call::claimed), and a call that meets such a claim waits for a person.
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
/// appears under its name when it is complete and on disk.
/// Fails: `already_exists` if there is a file; `not_found`; `lease_held` while a live worker owns
/// one of the sessions; `conflict` for one that was moved, for one whose relatives are not named
/// (the subject is one of these), and if they change again and again; `corrupted` for damage.
[[nodiscard]] Result<BundleReport> export_sessions(Store& store, const std::string& path,
                                                   const ExportOptions& options = {},
                                                   const Progress& progress = {});

/// Makes sessions of a bundle, all or none, after all of it was checked. Killed in between, it
/// leaves nothing visible. A second import makes the first fail with `lease_lost`.
/// Fails: `not_found`; `invalid_argument` for a file that is not a bundle; `unsupported` for a newer
/// format; `corrupted` for a torn file and for damage from before; `already_exists` for a session
/// whose id is in use here; `conflict` for a key that a call here holds. Then nothing is changed.
[[nodiscard]] Result<BundleReport> import_bundle(Store& store, const std::string& path,
                                                 const ImportOptions& options = {},
                                                 const Progress& progress = {});

struct MoveOptions {
  std::vector<SessionId> sessions{};  ///< Empty: all.
  bool with_relatives = false;        ///< Also the rest of their families.
  std::string place{};  ///< How the source names their new place; empty: the target's location.
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

}  // namespace perdure
