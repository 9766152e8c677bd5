// The paths of an agent file, made whole; and those that its tools keep away from.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/file_root.hpp"
#include "perdure/agent/secrets.hpp"

namespace perdure::agent_file {

[[nodiscard]] std::string whole_path(const AgentFile& file, const std::string& path);
[[nodiscard]] std::vector<FileRoot> whole_roots(const AgentFile& file);
[[nodiscard]] std::vector<SecretSpec> whole_secrets(const AgentFile& file);
/// A program that is a mere name is looked up; one with a slash is a path.
[[nodiscard]] std::vector<std::string> whole_command(const AgentFile& file,
                                                     std::vector<std::string> command);

/// What it holds says which store the command line uses in the folder that it is in, and below.
inline constexpr std::string_view project_folder = ".perdure";

/// Whole paths, of files and folders. Whoever reads the first knows a key, or decides in a person's
/// place; whoever writes the second is another agent.
struct GuardedPaths {
  std::vector<std::string> hidden{};
  std::vector<std::string> read_only{};
};

[[nodiscard]] GuardedPaths guarded_paths(const AgentFile& file, const AgentPlace& place);

}  // namespace perdure::agent_file
