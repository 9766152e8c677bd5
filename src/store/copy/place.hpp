// What a store is called where others can read it.

#pragma once

#include <string>

namespace perdure::copy {

/// The location without what only its owner may know: passwords, in front of the host and among
/// the options.
[[nodiscard]] std::string without_password(const std::string& location);

}  // namespace perdure::copy
