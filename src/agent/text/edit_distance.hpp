// Which known name somebody may have meant.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {

/// The name that takes the fewest changes, if they are at most a third of its letters or one;
/// upper case and `-` for `_` count for nothing.
[[nodiscard]] std::optional<std::string> closest_name(std::string_view meant,
                                                      const std::vector<std::string_view>& known);

}  // namespace perdure
