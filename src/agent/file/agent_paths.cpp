// Relative paths are relative to the folder of the file.

#include "file/agent_paths.hpp"

#include <filesystem>
#include <ranges>
#include <string>
#include <system_error>
#include <vector>

#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/exec_tool.hpp"
#include "perdure/agent/file_root.hpp"
#include "perdure/agent/secrets.hpp"

namespace perdure::agent_file {

namespace fs = std::filesystem;

std::string whole_path(const AgentFile& file, const std::string& path) {
  std::string whole = (fs::path(file.folder) / path).lexically_normal().string();
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

namespace {

// Whoever writes one of them decides what runs outside the sandbox: the program, and the files that
// it is told to read, by the name they have and by where links lead.
void add_files_of(const AgentFile& file, const ExecSpec& exec,
                  const std::vector<std::string>& command, std::vector<std::string>& to) {
  if (command.empty()) return;
  const std::string program = whole_command(file, command).front();
  if (program.starts_with('/')) to.push_back(program);
  const fs::path folder = whole_path(file, exec.folder);
  for (const std::string& word : command | std::views::drop(1)) {
    std::error_code error;
    if (!fs::is_regular_file(folder / word, error)) continue;
    to.push_back((folder / word).lexically_normal().string());
    if (const fs::path real = fs::canonical(folder / word, error); !error)
      to.push_back(real.string());
  }
}

}  // namespace

GuardedPaths guarded_paths(const AgentFile& file, const AgentPlace& place) {
  GuardedPaths paths{.hidden = place.hidden, .read_only = file.sources};
  const auto hide = [&](const std::string& path) {
    if (!path.empty()) paths.hidden.push_back(whole_path(file, path));
  };
  for (const FileRoot& root : whole_roots(file)) {
    if (root.is_writable) hide((fs::path(root.path) / project_folder).string());
  }
  hide(place.state_folder);
  hide(place.programs_folder);
  hide(file.model.key_file);
  for (const SecretSpec& secret : file.secrets) hide(secret.file);
  if (!file.model.ca_file.empty()) {
    paths.read_only.push_back(whole_path(file, file.model.ca_file));
  }
  for (const AgentProgram& program : file.tools.programs) {
    for (const auto* command : {&program.exec.command, &program.exec.verify}) {
      add_files_of(file, program.exec, *command, paths.read_only);
    }
  }
  return paths;
}

}  // namespace perdure::agent_file
