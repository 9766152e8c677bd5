// Moving sessions from one store to another, of any two backends.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

struct CopyOptions {
  /// Empty: all. Whole families only: forks, children and whoever shares a log go together.
  std::vector<SessionId> sessions{};
  /// Take along whoever belongs to a family of one of them.
  bool with_relatives = false;
  /// What the source will say of where they went; empty: the target's location, without a password.
  std::string place{};
  /// Take sessions along that a check would complain about, as they are. Else they are refused.
  bool with_damage = false;
};

struct CopyReport {
  std::uint64_t sessions = 0;  ///< Of the move that was finished, as are all these.
  std::uint64_t entries = 0;
  std::uint64_t commits = 0;
  std::uint64_t calls = 0;
  std::uint64_t messages = 0;
  std::uint64_t claims = 0;   ///< Keys that removed sessions hold.
  std::uint64_t blobs = 0;    ///< Put by this call.
  std::uint64_t damaged = 0;  ///< Sessions that were damaged before.
  bool is_complete = true;    ///< False if it was told to stop: call it again, or abandon it.

  bool operator==(const CopyReport&) const = default;
};

/// Moves sessions: ids, positions, versions, lines, receipts, ledger, inbox, times, totals and hashes
/// are in the target what they were in the source; numbers of segments are not. All of them go, or
/// none: none can run while they are copied, then they are compared fact by fact and against
/// their hash chains, and only then they are the source's no longer and the target's instead. In the
/// source they stay readable, say where they went, and can be removed.
///
/// Killed or stopped in between, it leaves sessions that cannot run in either store. Calling it again
/// finishes that move first, whatever it is asked for now. Both stores may be in use by others.
///
/// Removed sessions' claims and the fences of resources are carried along as well, always all of them,
/// and stay in the source too.
/// Fails: as Transfer::depart; `already_exists` for an id that is in use in the target; `conflict` for
/// a key that a call in the target holds; `corrupted` for damage (see `with_damage`); then everything is
/// as before. `lease_lost` if somebody else took the same move up. `unavailable`: call it again.
[[nodiscard]] Result<CopyReport> copy_store(Store& from, Store& to, const CopyOptions& options = {},
                                            const Progress& progress = {});

/// The sessions that `copy_store` would move, relatives among them, by what the source alone says; those
/// that went to `options.place` before are left out. Changes nothing.
/// Fails: as Transfer::depart.
[[nodiscard]] Result<std::vector<SessionId>> plan_copy(Store& from,
                                                       const CopyOptions& options = {});

/// Throws away what an unfinished copy left in the target; then the sessions can run in the source
/// again. Not an error if there is none.
/// Fails: `conflict` if all that is left to do is to let them run in the target: copy instead.
[[nodiscard]] Result<void> abandon_copy(Store& from, Store& to);

}  // namespace perdure
