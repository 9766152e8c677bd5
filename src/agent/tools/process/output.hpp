// Output of which the beginning and the end are kept, and what is left out is said.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/runtime/calls.hpp"

namespace perdure {

/// Around the number of bytes that are missing.
inline constexpr std::string_view cut_begin = "\n[… ";
inline constexpr std::string_view cut_end = " bytes left out …]\n";

class CappedText {
 public:
  /// Keeps at most `bytes_max`, half of it from the beginning.
  explicit CappedText(std::size_t bytes_max)
      : head_max_(bytes_max / 2), tail_max_(bytes_max - head_max_) {}

  void add(std::string_view bytes);

  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  /// With a line in the middle that says how many bytes are missing, if any are. No character of
  /// UTF-8 is cut.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t head_max_;
  std::size_t tail_max_;
  std::string head_{};
  std::string tail_{};
  std::size_t left_out_ = 0;
};

// Makes lines of what a program writes, and tells them as they end: at a line feed, or at a carriage
// return, as programs end the states of a bar.

class LineSplitter {
 public:
  /// `progress` must outlive it.
  explicit LineSplitter(const ToolProgress& progress) : progress_(progress) {}

  /// Empty lines are not told. Past the limits of calls.hpp bytes are not even looked at: a program
  /// that never stops writing costs nothing more.
  void add(std::string_view bytes);
  /// Tells a line that has no end.
  void end();

 private:
  const ToolProgress& progress_;
  std::string line_{};
  std::size_t told_ = 0;
};

}  // namespace perdure
