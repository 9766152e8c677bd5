// What every backend says of sessions that go, or went, to another store.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::rules {

/// By how much fences rise where a session begins anew elsewhere: more than any number of
/// take-overs, so that whoever compares fences outside of the store sees the old ones as outdated.
inline constexpr Fence fence_jump = Fence{1} << 32U;

/// Where a session is moved to; without a place if it is here.
struct Moved {
  Destination to{};
  bool moving = false;

  [[nodiscard]] bool is_here() const { return to.place.empty(); }
  bool operator==(const Moved&) const = default;
};

/// As it stands in a row: "moving" or "moved", the incarnation, the place. Empty if it is here.
[[nodiscard]] std::string to_text(const Moved& moved);
/// Of a text that was damaged, all is the place: better moved to nobody knows where than twice there.
[[nodiscard]] Moved moved_from(std::string_view text);

void show(const Moved& moved, SessionSummary& summary);

/// Fails: `conflict` if the session is moved, or being moved, with the place as subject.
[[nodiscard]] Result<void> check_here(const SessionId& session, const Moved& moved);
/// Fails: `conflict` if the session is being moved.
[[nodiscard]] Result<void> check_at_rest(const SessionId& session, const Moved& moved);
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check(const Destination& to);
/// Fails: `conflict` if it goes or went to another place than `to`.
[[nodiscard]] Result<void> check_free_to_go(const SessionId& session, const Moved& moved,
                                            const Destination& to);

/// The ticket of a move, against the last one there was. Fails: `lease_lost`.
[[nodiscard]] Result<void> check_ticket(Ticket ticket, Ticket last);

/// Whether a move of the source may go on here, where `last` was the last ticket, and is open or not.
/// Fails: `lease_lost`, `conflict` as `Transfer::arrive` says.
[[nodiscard]] Result<void> check_arrival(const Departure& departure, Ticket last, bool is_open);

/// Whether there is a move to be ended: false if it was ended that way before.
/// Fails: `lease_lost`; `conflict` if it was ended the other way.
[[nodiscard]] Result<bool> check_end(const Passage& passage, MoveEnd how, const Departure& move);

/// Whether facts are the next ones: false if they were the last ones, and are taken in already.
/// Fails: `conflict` if they are neither.
[[nodiscard]] Result<bool> check_next(const FactSlice& slice, const FactCursor& next);

/// Which sessions belong together. Names are ids of sessions, also of removed ones, and
/// numbers of removed sessions whose id nobody knows.
class Families {
 public:
  [[nodiscard]] static std::string name_of(OwnerNumber removed);

  void join(const std::string& one, const std::string& other);
  /// One of `here` that is related to one of `leaving` and does not leave.
  /// Fails: `conflict`, with it as subject.
  [[nodiscard]] Result<void> check_complete(const std::set<SessionId>& leaving,
                                            const std::set<SessionId>& here);

 private:
  std::string root_of(const std::string& name);

  std::map<std::string, std::string> above_;
};

}  // namespace perdure::rules
