// What every backend says of sessions that move to another store.

#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

/// By how much fences rise where a session begins anew elsewhere: more than any number of
/// take-overs, so that whoever compares fences outside of the store sees the old ones as outdated.
inline constexpr Fence fence_jump = Fence{1} << 32U;

/// Where a session was moved to; without a place if it is here.
struct Moved {
  Destination to{};

  [[nodiscard]] bool is_here() const { return to.place.empty(); }
  bool operator==(const Moved&) const = default;
};

/// As it stands in a row: "moved", the incarnation, the place.
[[nodiscard]] std::string to_text(const Moved& moved);
/// Of a text that was damaged, all is the place: better moved to an unknown place than twice there.
/// What an earlier version wrote of a move that it had not finished ("moving ...") is not moved.
[[nodiscard]] Moved moved_from(std::string_view text);

/// Fails: `conflict` if the session was moved, with the place as subject.
[[nodiscard]] Result<void> check_here(const SessionId& session, const Moved& moved);
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check(const Destination& to);
/// Fails: `conflict` unless the session is as it was.
[[nodiscard]] Result<void> check_unchanged(const SessionVersion& before, std::uint64_t revision);

/// What a store knows of the arrival that is open from one place.
struct OpenArrival {
  std::uint64_t attempt = 0;  ///< 0: none is open.
  FactCursor next{};

  bool operator==(const OpenArrival&) const = default;
};

/// Whether a slice is new: false if it is the one that was taken last.
/// Fails: `lease_lost`, `conflict` as `Transfer::take` says.
[[nodiscard]] Result<bool> check_next(const Arrival& arrival, const FactSlice& slice,
                                      const OpenArrival& open);
/// Fails: as `Transfer::release` says.
[[nodiscard]] Result<void> check_release(const Arrival& arrival, const OpenArrival& open);

/// The refusal of `mark_moved` without sessions.
[[nodiscard]] std::unexpected<Error> not_marked();

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
