// What people get to see of a location.

#pragma once

#include <string>

namespace perdure {

/// The location without its secrets: `postgres://ann:***@host/database`. Of one that cannot be read
/// nothing is told but its scheme: a password may be anywhere in it.
[[nodiscard]] std::string shown_location(const std::string& location);

}  // namespace perdure
