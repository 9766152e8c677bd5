// How the facts of sessions leave one store and enter another. Programs call `move_sessions`,
// `copy_sessions` (copy.hpp) and bundles (bundle.hpp); a store of one's own implements this.
//
// Facts are read where they are, without blocking anyone. What is taken in is an arrival: it
// has ids and keys, but it is not listed, not granted and not run until it is released. A move
// is decided in the source, by `mark_moved`, in one transaction: it succeeds only if no session
// has changed since its facts were read. src/store/copy/copy.cpp shows why no death and no
// second mover can break that.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"

namespace perdure {

/// Sessions that are being taken in. A store has at most one arrival from each place.
struct Arrival {
  std::string from{};         ///< The incarnation of the source; "bundle" for all bundles.
  std::uint64_t attempt = 0;  ///< Chosen at random by the caller; 0: whichever there is.

  bool operator==(const Arrival&) const = default;
};

/// Whose facts to read: those of an arrival if one is named, else those of these owners.
struct FactSource {
  std::vector<OwnerNumber> owners{};  ///< In ascending order.
  Arrival arrival{};

  bool operator==(const FactSource&) const = default;
};

/// Where sessions move to.
struct Destination {
  std::string incarnation{};  ///< Of the target.
  std::string place{};  ///< What people find it by; 1 to 4096 bytes without control characters.

  bool operator==(const Destination&) const = default;
};

/// A session as it was when its facts were read.
struct SessionVersion {
  SessionId session{};
  std::uint64_t revision = 0;

  bool operator==(const SessionVersion&) const = default;
};

class Transfer {
 public:
  virtual ~Transfer() = default;

  /// The numbers of these sessions, or of all that are here if none are named, and of removed
  /// sessions whose segments they share; in ascending order.
  /// Fails: `not_found`; `lease_held` while a live worker owns one of them; `conflict` for one that
  /// was moved, and for one that is related by forks, children or a shared log to one that is
  /// not named (the subject is the one left out).
  [[nodiscard]] virtual Result<std::vector<OwnerNumber>> find_owners(
      const std::vector<SessionId>& sessions) = 0;

  /// The next facts, a few megabytes at most unless one alone is larger, as they are at the moment.
  /// Facts of an arrival have the numbers that they have here; facts that belong to the store
  /// itself are not among them. Nothing if there is no such arrival.
  [[nodiscard]] virtual Result<FactSlice> read(const FactSource& source,
                                               const FactCursor& from) = 0;

  /// Takes in the next slice of an arrival; the first one begins it. Blobs must have been put.
  /// Taking in the slice that was taken last is not an error, and does nothing. Survives the
  /// machine from the next sync on.
  /// Fails: `lease_lost` if the arrival was discarded; `already_exists` for a session whose id is in
  /// use here; `conflict` for a key that a call here holds (the subject names it), for facts that are
  /// not the next ones, and if there is another arrival from that place; `invalid_argument` for a
  /// blob that was not put.
  [[nodiscard]] virtual Result<void> take(const Arrival& arrival, const FactSlice& slice) = 0;

  /// Makes sessions of an arrival, behind higher fences.
  /// Fails: `lease_lost` if there is no such arrival; `conflict` if not all facts were taken in.
  [[nodiscard]] virtual Result<void> release(const Arrival& arrival) = 0;

  /// Deletes an arrival. Not an error if there is none.
  [[nodiscard]] virtual Result<void> discard(const Arrival& arrival) = 0;

  /// Marks sessions as moved, all of them or none: from then on they can be read and removed here,
  /// and nothing else. An attempt that was marked stays marked: repeating it is not an error,
  /// whatever sessions are named. Without sessions it only says whether the attempt was marked.
  /// Fails: as `find_owners`; `conflict` if a session has changed since (the subject names it), and
  /// for an attempt without sessions that was not marked; `invalid_argument` for a bad place.
  [[nodiscard]] virtual Result<void> mark_moved(const Destination& to, std::uint64_t attempt,
                                                const std::vector<SessionVersion>& sessions) = 0;
};

}  // namespace perdure
