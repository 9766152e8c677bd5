// What the build puts into the program: which program this is, to the commit, and the page that each
// error code has (docs/errors/CODE.md).

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::cli {

struct BuildInfo {
  std::string version{};
  std::string commit{};  ///< Ends in "-dirty" if the tree was changed; empty: not known.
  std::string compiler{};
  std::string build_type{};
};

[[nodiscard]] BuildInfo build_info();

/// Its text; empty for what is no code.
[[nodiscard]] std::string_view find_error_page(std::string_view code);

/// The command that shows it.
[[nodiscard]] inline std::string page_command(ErrorCode code) {
  return "perdure help " + std::string(to_string(code));
}

/// Where it lies in the repository, and below the documents of a package.
[[nodiscard]] inline std::string page_path(ErrorCode code) {
  return "docs/errors/" + std::string(to_string(code)) + ".md";
}

}  // namespace perdure::cli
