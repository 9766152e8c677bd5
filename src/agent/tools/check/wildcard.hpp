// Names with `*` and `?`.

#pragma once

#include <string_view>

namespace perdure {

[[nodiscard]] bool fits_wildcard(std::string_view pattern, std::string_view text);

}  // namespace perdure
