// Maintenance of a store: forgetting, checks, backups, salvage, moves. docs/upkeep.md is the guide.
//
// What a kept version, the head, a branch or a fork can see stays as it is, to the byte. Nothing
// here needs a lease. Work is done in slices of at most 50 ms, except for a single huge body or
// blob. Interrupted, it leaves a good store, and repeating it does the rest.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

class Store;

struct Step {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< As far as known now; it may still rise.
};

/// Called between slices, on the caller's thread, with nothing locked. Return false to stop: what
/// was done stays done, and the work returns as if finished. Throwing stops it with `unavailable`.
using Progress = std::function<bool(const Step&)>;

/// The kind of fact that does not hold.
enum class Fault : std::uint8_t {
  file,       ///< The file itself: sums of pages, trees, indexes.
  chain,      ///< The hash chain over commits, or a body's hash.
  order,      ///< Positions or versions that are missing, doubled or out of order.
  reference,  ///< Something named that is not there: a segment, an entry, a blob.
  ledger,     ///< A call that the log contradicts.
  summary,    ///< A summary row that the log contradicts.
};

[[nodiscard]] std::string_view to_string(Fault fault);

struct Damage {
  Fault fault = Fault::file;
  std::optional<SessionId> session{};  ///< Empty: the store as a whole.
  Position first = 0;                  ///< Of the positions concerned; 0 if none are.
  Position last = 0;
  std::string what{};  ///< A sentence for a person: what, where, how much.
  bool operator==(const Damage&) const = default;
};

struct CheckReport {
  std::uint64_t sessions = 0;
  std::uint64_t commits = 0;
  std::uint64_t entries = 0;
  std::uint64_t calls = 0;
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;       ///< Of bodies and blobs that were hashed.
  std::vector<Damage> damage{};  ///< The first 1,000, by session, then by position.
  std::uint64_t found = 0;       ///< All findings, also those not listed.
  bool is_complete = true;       ///< False if it was asked to stop.

  [[nodiscard]] bool is_sound() const { return found == 0 && is_complete; }
};

enum class Gravity : std::uint8_t {
  fine,
  warning,  ///< A promise is narrower than people may think.
  danger,   ///< What was acknowledged may be lost.
};

[[nodiscard]] std::string_view to_string(Gravity gravity);

/// What Store::doctor says.
struct Remark {
  Gravity gravity = Gravity::fine;
  std::string topic{};   ///< For example "disk", "replication", "pooler".
  std::string what{};    ///< A sentence for a person.
  std::string advice{};  ///< What to do; empty: nothing.
};

/// Which versions stay: those that any of the rules names.
struct Keep {
  std::uint64_t last = 1;            ///< The newest so many.
  std::optional<Timestamp> since{};  ///< Those made then or later.
  std::uint64_t every = 0;           ///< Those whose number it divides; 0: no such rule.
  bool labelled = true;              ///< Those with a label.
};

struct Pruned {
  std::uint64_t versions = 0;  ///< Names removed.
  std::uint64_t entries = 0;   ///< Entries that nothing kept could see.
  std::uint64_t bytes = 0;     ///< Of their bodies.
  bool operator==(const Pruned&) const = default;
};

struct Freed {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Freed&) const = default;
};

class Upkeep {
 public:
  virtual ~Upkeep() = default;

  /// Removes the versions that `keep` does not name, then every entry of the session that no kept
  /// point can see. Kept are versions, the head, and where a branch or a fork leaves a line. Points
  /// that saw a dropped entry are gone: reading as of one, and forking from it, is `not_found`.
  /// Entries that an unresolved call refers to stay, and results of calls that hold a key. Totals
  /// are unchanged.
  /// Fails: `not_found` for the session.
  [[nodiscard]] virtual Result<Pruned> prune(const SessionId& session, const Keep& keep,
                                             const Progress& progress = {}) = 0;

  /// As `prune`, for one version and the entries since the kept point before it.
  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<Pruned> forget(const SessionId& session, Version version) = 0;

  /// Empties the bodies of these entries, also in every fork that shares them: they are `erased`
  /// and keep their hash. When it returns, the file does not hold their bytes, nor those of
  /// messages they came from; blobs (see `collect_blobs`) and backups may, and on PostgreSQL the
  /// server's files, WAL and standbys until they are overwritten. Repeating it is not an error.
  /// Fails: `not_found` for the session, or for a position where it has no entry: then nothing is
  /// erased. `unavailable` if a reader kept the old bytes in use: they are erased, but not yet from
  /// the file; erase again.
  [[nodiscard]] virtual Result<Freed> erase(const SessionId& session,
                                            const std::vector<Position>& positions) = 0;

  /// Removes the session; `items` counts entries. What forks can see of its log stays for them;
  /// keys its calls hold stay claimed, without any payload. Children and forks stay. The id may be
  /// used again.
  /// Fails: `not_found`; `lease_held` while a live worker owns it; `conflict` while a call is
  /// intended, dispatched or in doubt (the subject names it), unless the session was moved to
  /// another store.
  [[nodiscard]] virtual Result<Freed> remove(const SessionId& session,
                                             const Progress& progress = {}) = 0;

  /// Removes blobs that no entry and no waiting message names, and that were last put longer than
  /// `staged_for` ago. An erased entry names none.
  /// Fails: `invalid_argument` below a minute: a commit under way may name them.
  [[nodiscard]] virtual Result<Freed> collect_blobs(Duration staged_for,
                                                    const Progress& progress = {}) = 0;

  /// Gives unused space back to the file system; `items` counts pages. Also finishes an interrupted
  /// `remove`. On PostgreSQL a plain VACUUM; a role that may not do it is not an error.
  [[nodiscard]] virtual Result<Freed> vacuum(const Progress& progress = {}) = 0;

  /// Reads everything and compares it with itself (Fault has what is tested). Changes nothing, and
  /// sees one consistent state while others write.
  [[nodiscard]] virtual Result<CheckReport> check(const Progress& progress = {}) = 0;

  /// Writes a copy of one consistent state to a new file, while others write. The file appears
  /// under its name when it is complete and on disk. Open it as a store to restore it: it has a new
  /// incarnation, higher fences and no workers, and its unfinished sessions are paused and need
  /// attention.
  /// Fails: `already_exists` if there is a file, or the log of another store beside its name;
  /// `unsupported` by the backend; `corrupted` if a page does not match its sum; `unavailable` if
  /// it was asked to stop. Then there is no file.
  [[nodiscard]] virtual Result<void> backup(const std::string& path,
                                            const Progress& progress = {}) = 0;
};

struct SalvageReport {
  std::uint64_t sessions = 0;  ///< Written to the new store.
  std::uint64_t whole = 0;     ///< Of them, those of which a check finds nothing.
  std::uint64_t entries = 0;
  std::uint64_t entries_lost = 0;     ///< Positions known to have been, but not found.
  std::uint64_t entries_damaged = 0;  ///< Kept, though their bytes do not match their hash.
  std::uint64_t pages_unreadable = 0;
  std::vector<Damage> damage{};  ///< Of a check of the new store: what was lost for good.
  std::uint64_t found = 0;       ///< As CheckReport has it.
};

/// Reads the file at `from`, which is never changed, page by page, and writes what it finds to a
/// new store at `to`, which appears when it is complete and on disk. Its sessions are as those of a
/// restored backup; a damaged entry takes the place of each one lost. No store object of this
/// process may have `from` open.
/// Fails: `not_found` if there is no file, nor its WAL; `already_exists` if there is one at `to`,
/// or the log of another store beside its name; `corrupted` if nothing in it looks like a store;
/// `unsupported` for a newer format; `unavailable`, also if it was asked to stop: then there
/// is none.
[[nodiscard]] Result<SalvageReport> salvage_store(const std::string& from, const std::string& to,
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

/// Moves sessions with all that belongs to them, behind higher fences. Only whole families go:
/// forks, children and sessions that share a log. In the source they stay readable, say where they
/// are, and can be removed. Both stores may be in use. Killed at any moment, it leaves no session
/// that can run in both, and calling it again finishes the move.
/// Fails: `not_found`; `lease_held` while a live worker owns one of the sessions; `corrupted` for
/// damage; `conflict` for one whose relatives are not named (the subject is one of these), if they
/// change again and again, and for a key that a call in the target holds;
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
