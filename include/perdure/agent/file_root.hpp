// A folder that tools work in.

#pragma once

#include <string>

namespace perdure {

struct FileRoot {
  std::string name{};  ///< Not needed if there is one root only.
  std::string path{};  ///< A whole path. It may be a link: it is the user's.
  bool is_writable = false;
};

}  // namespace perdure
