// The paths that the build gives.

#include "doubles/places.hpp"

#include <string>

namespace perdure {

const std::string& repository_root() {
  static const std::string root = PERDURE_SOURCE_ROOT;
  return root;
}

const std::string& perdure_program() {
  static const std::string program = PERDURE_PROGRAM;
  return program;
}

}  // namespace perdure
