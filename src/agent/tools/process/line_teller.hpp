// Makes lines of what a program writes, and tells them as they end: at a line feed, or at a carriage
// return, as programs end the states of a bar.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/runtime/calls.hpp"

namespace perdure {

class LineTeller {
 public:
  /// `progress` must outlive it.
  explicit LineTeller(const ToolProgress& progress) : progress_(progress) {}

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
