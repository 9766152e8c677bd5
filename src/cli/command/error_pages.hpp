// The page that each code of an error has: docs/errors/CODE.md, which the program carries with it.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::cli {

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
