// How much is read and taken in at once, and how a place among the facts is written down.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/store/facts.hpp"

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
  /// `at` names the fact itself.
  void add(Fact fact, FactCursor at);

  /// There is nothing more of this kind. False if the slice is done.
  [[nodiscard]] bool go_on();

  [[nodiscard]] FactSlice finish() &&;

 private:
  FactSlice slice_;
  FactCursor at_;
  std::uint64_t bytes_ = 0;
};

}  // namespace perdure::rules
