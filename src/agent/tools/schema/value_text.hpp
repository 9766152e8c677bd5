// One text for all JSON that is equal as JSON Schema sees it: 1 is 1.0, the order of members
// does not count, the last of two members of one name does. Integers keep all their digits; what
// has a fraction or an exponent is the nearest double.

#pragma once

#include <string>

#include "perdure/core/json.hpp"

namespace perdure::schema {

[[nodiscard]] std::string value_text(const Json& value);

/// As a person is shown it, cut if it is long.
[[nodiscard]] std::string shown(const Json& value);

/// "a string", "an integer" …
[[nodiscard]] std::string kind_words(const Json& value);

}  // namespace perdure::schema
