// What every backend says of sessions that move to another store, and how their facts are cut into
// slices.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/sessions.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

/// By how much fences rise where a session starts afresh elsewhere: more than any number of
/// take-overs, so that those who compare fences outside the store see the old ones as outdated.
inline constexpr Fence fence_jump = Fence{1} << 32U;

/// Where a session was moved to; without a place if it is here.
struct Moved {
  Destination to{};

  [[nodiscard]] bool is_here() const { return to.place.empty(); }
  bool operator==(const Moved&) const = default;
};

/// As stored in a row: "moved", the incarnation, the place.
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

/// Stands for the incarnation of the source in arrivals out of a bundle.
inline constexpr std::string_view place_of_bundles = "bundle";

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

/// The refusal of `mark_moved` without sessions.
[[nodiscard]] std::unexpected<Error> not_marked();

/// Which sessions belong together. Names are ids of sessions, also of removed ones, and
/// numbers of removed sessions whose id is unknown.
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

// How much is read and taken in at once, and how a place among the facts is written down.

/// Bodies of one slice; the last one may go beyond it.
inline constexpr std::uint64_t slice_bytes_max = std::uint64_t{4} << 20U;

[[nodiscard]] std::string to_text(const FactCursor& cursor);
/// Empty if no `to_text` wrote it.
[[nodiscard]] std::optional<FactCursor> fact_cursor_from(std::string_view text);

[[nodiscard]] FactKind kind_of(const Fact& fact);
/// The blob that a fact names, which has to be there before the fact.
[[nodiscard]] std::optional<BlobRef> blob_of(const Fact& fact);

/// What another store's numbers of sessions and segments are here.
struct Numbers {
  std::map<OwnerNumber, OwnerNumber> owners{};
  std::map<SegmentId, SegmentId> segments{};

  bool operator==(const Numbers&) const = default;
};
/// Puts our numbers into the fact, but for a session's active segment, which comes after it. False if
/// one is not known: it becomes 0.
bool renumber(Fact& fact, const Numbers& numbers);

/// Puts a slice together.
class SliceMaker {
 public:
  explicit SliceMaker(FactCursor from) : at_(from) { slice_.from = std::move(from); }

  /// The kind that is read now, and behind what.
  [[nodiscard]] const FactCursor& at() const { return at_; }
  /// How many more facts fit, whatever their bodies.
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] bool is_full() const { return room() == 0; }
  /// `group` and `number`, or the name, are the fact's own (FactCursor).
  void add(std::uint64_t group, std::uint64_t number, Fact fact);
  void add(std::uint64_t group, std::string name, Fact fact);
  void add(FactCursor at, Fact fact);

  /// There is nothing more of this kind. False if the slice is done.
  [[nodiscard]] bool go_on();

  [[nodiscard]] FactSlice finish() &&;

 private:
  FactSlice slice_;
  FactCursor at_;
  std::uint64_t bytes_ = 0;
};

/// Reads kind after kind, until the slice has some facts. `reader` reads one kind at a time, from
/// `slice.at()` on.
template <class Reader>
[[nodiscard]] FactSlice read_slice(SliceMaker slice, Reader&& reader) {
  do {
    switch (slice.at().kind) {
      case FactKind::session:
        reader.read_sessions(slice);
        break;
      case FactKind::segment:
        reader.read_segments(slice);
        break;
      case FactKind::pruned:
        reader.read_pruned(slice);
        break;
      case FactKind::entry:
        reader.read_entries(slice);
        break;
      case FactKind::receipt:
        reader.read_receipts(slice);
        break;
      case FactKind::checkpoint:
        reader.read_checkpoints(slice);
        break;
      case FactKind::call:
        reader.read_calls(slice);
        break;
      case FactKind::waiting:
        reader.read_waiting(slice);
        break;
      case FactKind::consumed:
        reader.read_consumed(slice);
        break;
      case FactKind::claim:
        reader.read_claims(slice);
        break;
      case FactKind::resource:
        reader.read_resources(slice);
        break;
      case FactKind::none:
        break;
    }
  } while (!slice.is_full() && slice.go_on());
  return std::move(slice).finish();
}

}  // namespace perdure::rules
