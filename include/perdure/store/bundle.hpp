// Sessions as one file: for another machine, a colleague, an archive.
//
// A bundle is a copy. The sessions stay where they are and can go on there, so what comes out of
// a bundle does not go on by itself: unfinished sessions arrive paused and needing attention, as
// out of a backup, until somebody decides so. Nobody but that somebody knows whether the
// original goes on too; both would make their next calls under the same keys. To hand a session
// over for good, move it (copy.hpp).
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

}  // namespace perdure
