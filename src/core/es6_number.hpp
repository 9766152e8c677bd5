// A double as ECMAScript prints it (Number::toString): what RFC 8785 asks for.

#pragma once

#include <string>

namespace perdure {

/// `value` must be finite.
[[nodiscard]] std::string es6_number(double value);

}  // namespace perdure
