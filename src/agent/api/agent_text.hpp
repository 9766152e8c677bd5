// The texts that an agent is made of: its file, a prompt, a script.

#pragma once

#include <filesystem>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure {

/// Reads one. Of a file that is too large, one byte more than agent_file_bytes_max.
/// Fails: `not_found`; `unavailable`, with the reason, for what is no plain file or cannot be read.
[[nodiscard]] Result<std::string> read_agent_text(const std::filesystem::path& path);

}  // namespace perdure
