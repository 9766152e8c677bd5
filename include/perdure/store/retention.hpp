// Forgetting on purpose: versions, bodies, sessions, and the space they took.
//
// What a kept version, the head, a branch or a fork can see stays as it is, to the
// byte. None of this needs a lease: it changes nothing an owner rests on. Work goes
// in slices of at most 50 ms, so that commits and renewals of others go on; only a
// single body or blob of many megabytes may take longer. Cut off in the middle, by an
// error or by a death, it leaves a good store, and doing it again does the rest.
//
// What is done here to a session that was moved to another store has no effect there. A body
// that is erased while its session is being moved does not get there.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/progress.hpp"

namespace perdure {

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

class Retention {
 public:
  virtual ~Retention() = default;

  /// Removes the versions that `keep` does not name, then every entry of the session
  /// that no kept point can see: replaced on its channel before the next kept point, or
  /// after the last one of a line that a branch has left. Kept are versions, the head,
  /// and where a branch or a fork leaves a line. Points that saw a dropped entry are
  /// gone with it: reading as of one is `not_found`, and so is forking from it; every
  /// other point reads as before, but for entries that were replaced before it.
  /// Entries that an unresolved call refers to stay, and so do results of calls that
  /// hold a key. Totals count what was dropped. Numbers of removed versions are not
  /// given again. What is committed meanwhile is not looked at.
  /// Fails: `not_found` for the session.
  [[nodiscard]] virtual Result<Pruned> prune(const SessionId& session, const Keep& keep,
                                             const Progress& progress = {}) = 0;

  /// As `prune`, for one version and the entries since the kept point before it.
  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<Pruned> forget(const SessionId& session, Version version) = 0;

  /// Empties the bodies of these entries, wherever the session has them and in every
  /// fork that shares them: they are `erased` and keep their hash. Not even the file
  /// holds their bytes when it returns, nor those of messages they came from; only blobs
  /// stay (see `collect_blobs`), and of course backups. That means looking at every page
  /// of the file, more than once; if others write all the while, the last look makes them
  /// wait for as long as it takes. An entry erased before is not an error.
  /// On PostgreSQL the bodies are gone for whoever asks the server; its data files, WAL,
  /// standbys and backups hold the bytes until they are overwritten (docs/upkeep.md).
  /// Fails: `not_found` for the session, or for a position where it has no entry, or none
  /// any more: then nothing is erased. `unavailable` if somebody read for seconds from
  /// what was before: the bodies are erased, but not yet from the file; erase again.
  [[nodiscard]] virtual Result<Freed> erase(const SessionId& session,
                                            const std::vector<Position>& positions) = 0;

  /// Removes the session; `items` counts entries. What forks can see of its log stays
  /// for them, and goes with the last of them; keys its calls hold stay claimed, without
  /// any payload. Children and forks stay, and keep its id as their parent. The id may be
  /// used again, for a session that has nothing to do with it. The session is gone at
  /// once: what is cut off is space, and `vacuum` finds it.
  /// Fails: `not_found`; `lease_held` while a live worker owns it; `conflict` while a
  /// call is intended, dispatched or in doubt (the subject names it), unless the session
  /// was moved to another store.
  [[nodiscard]] virtual Result<Freed> remove(const SessionId& session,
                                             const Progress& progress = {}) = 0;

  /// Removes blobs that no entry and no waiting message names, and that were last
  /// put longer than `staged_for` ago. An erased entry names none.
  /// Fails: `invalid_argument` below `blob_grace_min`.
  [[nodiscard]] virtual Result<Freed> collect_blobs(Duration staged_for,
                                                    const Progress& progress = {}) = 0;

  /// Gives unused space back to the file system; `items` counts pages. Also does
  /// what an interrupted `remove` left undone. A file that is read from just then
  /// shrinks a little later. On PostgreSQL this is a plain VACUUM: where the role may not do it,
  /// that is not an error, and the server's autovacuum does it in its time.
  [[nodiscard]] virtual Result<Freed> vacuum(const Progress& progress = {}) = 0;
};

}  // namespace perdure
