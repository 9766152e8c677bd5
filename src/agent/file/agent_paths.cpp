// Relative paths are relative to the folder of the file.

#include "file/agent_paths.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/file_root.hpp"
#include "perdure/agent/secrets.hpp"

namespace perdure::agent_file {

std::string whole_path(const AgentFile& file, const std::string& path) {
  std::string whole = (std::filesystem::path(file.folder) / path).lexically_normal().string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::vector<FileRoot> whole_roots(const AgentFile& file) {
  std::vector<FileRoot> roots = file.roots;
  for (FileRoot& root : roots) root.path = whole_path(file, root.path);
  return roots;
}

std::vector<SecretSpec> whole_secrets(const AgentFile& file) {
  std::vector<SecretSpec> secrets = file.secrets;
  for (SecretSpec& secret : secrets) {
    if (!secret.file.empty()) secret.file = whole_path(file, secret.file);
  }
  return secrets;
}

std::vector<std::string> whole_command(const AgentFile& file, std::vector<std::string> command) {
  const bool is_path = !command.empty() && command.front().find('/') != std::string::npos;
  if (is_path) command.front() = whole_path(file, command.front());
  return command;
}

GuardedPaths guarded_paths(const AgentFile& file, const AgentPlace& place) {
  GuardedPaths paths{.hidden = place.hidden, .read_only = file.sources};
  const auto hide = [&](const std::string& path) {
    if (!path.empty()) paths.hidden.push_back(whole_path(file, path));
  };
  for (const FileRoot& root : whole_roots(file)) {
    if (root.is_writable) hide((std::filesystem::path(root.path) / project_folder).string());
  }
  hide(place.state_folder);
  hide(file.model.key_file);
  for (const SecretSpec& secret : file.secrets) hide(secret.file);
  for (const AgentProgram& program : file.tools.programs) {
    for (const auto* command : {&program.exec.command, &program.exec.verify}) {
      const auto whole = whole_command(file, *command);
      if (!whole.empty() && whole.front().starts_with('/'))
        paths.read_only.push_back(whole.front());
    }
  }
  return paths;
}

}  // namespace perdure::agent_file
