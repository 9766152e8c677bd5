// Arguments of a call whose schema has been checked.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure {

/// A string argument; `otherwise` if it is not there.
[[nodiscard]] std::string text_arg(const Json& args, std::string_view name,
                                   std::string_view otherwise = {});
[[nodiscard]] std::int64_t number_arg(const Json& args, std::string_view name,
                                      std::int64_t otherwise);

}  // namespace perdure
