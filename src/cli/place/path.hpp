// Paths that people write.

#pragma once

#include <string>

#include "perdure/core/error.hpp"

namespace perdure::cli {

/// Of a path as it was written in this folder.
[[nodiscard]] std::string whole_path(const std::string& path, const std::string& folder);

/// The same of a file that is to be read or made.
/// Fails: `invalid_argument` for what is none: nothing, a stream, the address of a server.
[[nodiscard]] Result<std::string> file_path(const std::string& file, const std::string& folder);

/// Whether the word means an agent file, there or not, rather than something else.
[[nodiscard]] bool names_agent_file(const std::string& word, const std::string& folder);

}  // namespace perdure::cli
