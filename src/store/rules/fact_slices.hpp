// How much is read and taken in at once, and how a place among the facts is written down.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/api/transfer.hpp"

namespace perdure::rules {

/// Bodies of one slice; the last one may go beyond it.
inline constexpr std::uint64_t slice_bytes_max = std::uint64_t{4} << 20U;

[[nodiscard]] std::string to_text(const FactCursor& cursor);
/// Empty if no `to_text` wrote it.
[[nodiscard]] std::optional<FactCursor> fact_cursor_from(std::string_view text);

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
