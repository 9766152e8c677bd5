// Which program this is, to the commit.

#pragma once

#include <string>

namespace perdure::cli {

struct BuildInfo {
  std::string version{};
  std::string commit{};  ///< Ends in "-dirty" if the tree was changed; empty: not known.
  std::string compiler{};
  std::string build_type{};
};

[[nodiscard]] BuildInfo build_info();

}  // namespace perdure::cli
