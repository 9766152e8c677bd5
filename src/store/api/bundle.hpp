// Sessions as a file (a bundle).
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

/// Reads all of a bundle and compares it with its sums. Needs no store.
/// Fails: `not_found`; `invalid_argument` if the file is not a bundle; `unsupported` for a newer
/// format; `corrupted` if it is torn or changed; `unavailable`.
[[nodiscard]] Result<BundleReport> check_bundle(const std::string& path,
                                                const Progress& progress = {});

}  // namespace perdure
