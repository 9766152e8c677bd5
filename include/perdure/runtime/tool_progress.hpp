// How far a call is, told while it runs, to whoever watches: a line at a time.
//
// Nothing of it is recorded, nor told to the model: the result is what a tool returns. Of one call at
// most `progress_lines_max` lines are told, each cut to `progress_line_bytes_max`; of a tool with
// secrets each line is searched for them as its result is, so a secret must not be cut into two.

#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

namespace perdure {

inline constexpr std::size_t progress_line_bytes_max = 500;
inline constexpr std::size_t progress_lines_max = 2000;

/// A value; any threads of the tool may use it. What is told after the tool has returned is dropped.
class ToolProgress {
 public:
  using Tell = std::function<void(std::string_view line)>;

  /// Nobody watches.
  ToolProgress() = default;
  explicit ToolProgress(Tell tell) : tell_(std::move(tell)) {}

  /// Does nothing if nobody watches.
  void operator()(std::string_view line) const {
    if (tell_) tell_(line);
  }
  [[nodiscard]] bool is_watched() const { return static_cast<bool>(tell_); }

 private:
  Tell tell_;
};

}  // namespace perdure
