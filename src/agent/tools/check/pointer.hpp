// Places in arguments, by JSON pointers of plain names.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"

namespace perdure {

/// Null if there is nothing. Objects only.
[[nodiscard]] const Json* find_by_pointer(const Json& value, std::string_view pointer);

/// The strings at those pointers, and in arrays there.
[[nodiscard]] std::vector<std::string> paths_in(const Json& args,
                                                const std::vector<std::string>& path_args);

}  // namespace perdure
