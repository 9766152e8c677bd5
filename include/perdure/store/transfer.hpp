// How sessions leave one store for another. For `copy_store` (copy.hpp) and bundles (bundle.hpp),
// which are what a program calls; a store of one's own implements it.
//
// A move is open in the source from `depart` on, and in the target from `arrive` on. While it
// is, its sessions cannot run in either: the source grants them to nobody, the target does
// not show them. The source decides: once it says `moved`, and not before, the target may say
// so too. A death in between leaves both open, or the target alone, and what they say of the
// move (`find_…`) is enough to go on.
//
// A ticket is to a move what a fence is to a session: whoever takes a move up again gets a
// higher one, and the one before writes nothing any more.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"

namespace perdure {

using Ticket = std::uint64_t;

/// How moves to another store stand.
struct Departure {
  Ticket open = 0;      ///< The present ticket of the move that is open; 0: none is.
  Ticket since = 0;     ///< Its first ticket.
  Ticket finished = 0;  ///< Of the last move that ended in `moved`.

  bool operator==(const Departure&) const = default;
};

/// How far a move from another store has come.
struct Arrival {
  Ticket ticket = 0;  ///< Of the move that is open; 0: none is.
  Ticket last = 0;    ///< The highest one there was.
  FactCursor next{};  ///< Of the source; where the open move goes on.

  bool operator==(const Arrival&) const = default;
};

/// Where a move goes.
struct Destination {
  std::string incarnation{};  ///< Of the target.
  std::string place{};  ///< What people find it by; 1 to 4096 bytes without control characters.

  bool operator==(const Destination&) const = default;
};

enum class Side : std::uint8_t {
  departing,
  arriving,
  staying,  ///< No move at all: sessions that are only looked at.
};

/// An open move, as one of its two stores sees it.
struct Passage {
  Side side = Side::departing;
  std::string peer{};  ///< The incarnation of the other store.
  Ticket ticket = 0;
  std::vector<OwnerNumber> owners{};  ///< Of those that stay, in their order.

  bool operator==(const Passage&) const = default;
};

enum class MoveEnd : std::uint8_t { moved, abandoned };

class Transfer {
 public:
  virtual ~Transfer() = default;

  [[nodiscard]] virtual Result<Departure> find_departure(const std::string& target) = 0;

  /// Opens a move of these sessions, or of all that are here if none are named. Their fences
  /// are raised and they are granted to nobody, until the move ends. Sessions that went to
  /// this target before are left out. If a move to the target is open already, that one gets
  /// a new ticket, and `sessions` are not looked at.
  /// Fails: `not_found`; `lease_held` while a live worker owns one of them; `conflict` for one that
  /// goes or went to another store, and for one that is related by forks, children or a shared
  /// log to one that is not named (the subject is the one left out); `invalid_argument` for a
  /// bad place.
  [[nodiscard]] virtual Result<Departure> depart(const Destination& to,
                                                 const std::vector<SessionId>& sessions) = 0;

  /// What the target holds of moves from that store.
  [[nodiscard]] virtual Result<Arrival> find_arrival(const std::string& source) = 0;

  /// Opens the move that is open in the source, or goes on with it, under its present ticket.
  /// Fails: `lease_lost` for a ticket below the last one; `conflict` if an earlier move from there is
  /// still open here: the source knows how it ended.
  [[nodiscard]] virtual Result<Arrival> arrive(const std::string& source,
                                               const Departure& departure) = 0;

  /// A way to read the facts of these sessions, or of all that are here, where they are and without
  /// holding anybody up: `read` gives what there is when it is asked. Rows that have the same
  /// revision at the end as at the beginning say that nobody wrote to them in between; pruning
  /// leaves it as it is.
  /// Fails: as `depart` for the sessions.
  [[nodiscard]] virtual Result<Passage> show(const std::vector<SessionId>& sessions) = 0;

  /// The next facts of the move, a few megabytes at most unless one alone is larger. Reading on
  /// the arriving side gives what was taken in, under the numbers it has there; facts that are
  /// the store's own are not among them.
  /// Fails: `lease_lost`.
  [[nodiscard]] virtual Result<FactSlice> read(const Passage& passage, const FactCursor& from) = 0;

  /// Takes in what `read` gave in the source. Blobs must have been put. Taking in the slice that
  /// was taken last is not an error, and does nothing. Survives the machine from the next sync on.
  /// Fails: `lease_lost`; `already_exists` for a session whose id is in use here; `conflict` for a
  /// key that a call here holds (the subject names it), and for facts that are not the next ones;
  /// `invalid_argument` for a blob that was not put.
  [[nodiscard]] virtual Result<void> take(const Passage& passage, const FactSlice& slice) = 0;

  /// Ends the move here. Departing: `moved`, its sessions are gone to the target for good; `abandoned`,
  /// they are here as before. Arriving: `moved`, all of them are here and can be granted, behind
  /// higher fences; `abandoned`, nothing of them is left. Ending it twice the same way is not an error.
  /// Fails: `lease_lost`; `conflict` if not all facts were taken in, or if it ended the other way.
  [[nodiscard]] virtual Result<void> end(const Passage& passage, MoveEnd how) = 0;
};

}  // namespace perdure
