// Where a test finds this repository and the program of this build.
//
// One source is compiled with these paths, so that a compiler cache knows all others in every clone.

#pragma once

#include <string>

namespace perdure {

[[nodiscard]] const std::string& repository_root();
/// The program `perdure`; empty where it is not built.
[[nodiscard]] const std::string& perdure_program();

}  // namespace perdure
