// The paths of an agent file, made whole; and those that its tools keep away from.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::agent_file {

/// What it holds says which store the command line uses in the folder that it is in, and below.
inline constexpr std::string_view project_folder = ".perdure";

/// Whole paths, of files and folders. Whoever reads the first knows a key, or decides in a person's
/// place; whoever writes the second is another agent.
struct GuardedPaths {
  std::vector<std::string> hidden{};
  std::vector<std::string> read_only{};
};

namespace fs = std::filesystem;

namespace {

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

// A program that is a mere name is looked up; one with a slash is a path.
std::vector<std::string> whole_command(const AgentFile& file, std::vector<std::string> command) {
  const bool is_path = !command.empty() && command.front().find('/') != std::string::npos;
  if (is_path) command.front() = whole_path(file, command.front());
  return command;
}

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

}  // namespace

// What no answer of an agent's tools may hold: its key, its secrets, and what a tool is passed that
// looks like one.

/// For without_secrets. `pass_env`: what the tool is passed.
[[nodiscard]] std::function<Result<SecretValues>()> private_values(
    const AgentFile& file, const AgentPlace& place, const std::vector<std::string>& pass_env);

namespace {

constexpr std::size_t value_bytes_min = 8;
constexpr std::array<std::string_view, 6> telling = {"KEY",  "TOKEN",      "SECRET",
                                                     "PASS", "CREDENTIAL", "AUTH"};
constexpr std::array<std::string_view, 14> common = {
    "PATH", "HOME", "PWD",    "USER",     "LOGNAME", "SHELL", "TERM",
    "LANG", "TZ",   "TMPDIR", "HOSTNAME", "EDITOR",  "PAGER", "LANGUAGE"};

bool is_there(const std::string& value) {
  if (!value.starts_with('/')) return false;
  std::error_code ignored;  // Of a list the first.
  return std::filesystem::exists(value.substr(0, value.find(':')), ignored);
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

Result<SecretValues> all_of(std::vector<SecretSpec> specs, const Environment& environment) {
  const auto secrets = Secrets::of(std::move(specs), environment);
  return secrets ? secrets->read_all() : SecretValues{};
}

// Whether a variable of the environment is taken for a secret. By its name, if that has KEY, TOKEN,
// SECRET, PASS, CREDENTIAL or AUTH in it; otherwise if its value has 8 bytes or more, not letters
// only, and is no path that is there, nor the variable one that everybody has (HOME, LANG ...).
bool is_like_a_secret(std::string_view name, const std::string& value) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::any_of(
          telling, [&](std::string_view word) { return upper.find(word) != std::string::npos; })) {
    return true;
  }
  if (value.size() < value_bytes_min || std::ranges::all_of(value, is_letter)) return false;
  const bool is_common = std::ranges::find(common, name) != common.end() ||
                         name.starts_with("LC_") || name.starts_with("XDG_");
  return !is_common && !is_there(value);
}

}  // namespace

std::function<Result<SecretValues>()> private_values(const AgentFile& file, const AgentPlace& place,
                                                     const std::vector<std::string>& pass_env) {
  const bool has_key_file = !file.model.key_file.empty();
  const SecretSpec key{.name = "model.key",
                       .variable = file.model.key_variable,
                       .file = has_key_file ? whole_path(file, file.model.key_file) : ""};
  return [secrets = whole_secrets(file), key, pass_env,
          environment = place.environment]() -> Result<SecretValues> {
    auto values = all_of({key}, environment);
    if (!values) return values;
    auto others = all_of(secrets, environment);
    if (!others) return others;
    values->merge(*others);
    for (const std::string& name : pass_env) {
      const auto value = read_variable(environment, name);
      if (!value) return fail(value.error().code, value.error().message);
      if (*value && is_like_a_secret(name, **value)) values->emplace(name, **value);
    }
    return values;
  };
}

}  // namespace perdure::agent_file

namespace perdure {
namespace {

using agent_file::guarded_paths;
using agent_file::GuardedPaths;
using agent_file::private_values;
using agent_file::whole_command;
using agent_file::whole_path;
using agent_file::whole_roots;
using agent_file::whole_secrets;

template <typename T>
void append(std::vector<T>& all, std::vector<T> more) {
  std::ranges::move(more, std::back_inserter(all));
}

Result<void> pass(const std::vector<std::string>& names, const Environment& environment,
                  std::string_view tool, std::map<std::string, std::string>& to) {
  for (const std::string& name : names) {
    auto read = read_variable(environment, name);
    if (!read) return forward(read);
    std::optional<std::string>& value = *read;
    if (!value) {
      return fail(
          ErrorCode::not_found,
          fmt::format("tool {}: the environment has no {}; set it, or take it out of pass_env",
                      tool, name),
          name);
    }
    to.insert_or_assign(name, *std::move(value));
  }
  return {};
}

Result<ToolSpec> make_program(const AgentFile& file, const AgentProgram& program,
                              const AgentPlace& place, const Secrets& secrets) {
  ExecSpec exec = program.exec;
  exec.command = whole_command(file, std::move(exec.command));
  exec.verify = whole_command(file, std::move(exec.verify));
  exec.folder = whole_path(file, exec.folder);
  exec.state_folder = place.programs_folder.empty() ? place.state_folder : place.programs_folder;
  exec.spec.path_args.place.roots = named_roots(whole_roots(file));
  const std::string name = exec.spec.tool.name;
  auto passed = pass(program.pass_env, place.environment, name, exec.environment);
  if (!passed) return forward(passed);
  auto tool = make_exec_tool(std::move(exec));
  if (!tool) return forward(tool);
  auto filled = with_secrets(*std::move(tool), secrets);
  if (!filled) return filled;
  return without_secrets(*std::move(filled), private_values(file, place, program.pass_env));
}

Result<ToolSpec> make_shell(const AgentFile& file, const AgentPlace& place) {
  ShellSpec shell = file.tools.shell->shell;
  shell.roots = whole_roots(file);
  for (std::string& path : shell.hidden) path = whole_path(file, path);
  GuardedPaths guarded = guarded_paths(file, place);
  append(shell.hidden, std::move(guarded.hidden));
  append(shell.read_only, std::move(guarded.read_only));
  shell.state_folder = place.state_folder;
  shell.programs_folder = place.programs_folder;
  auto passed = pass(file.tools.shell->pass_env, place.environment, shell.name, shell.environment);
  if (!passed) return forward(passed);
  auto tool = make_shell_tool(std::move(shell));
  if (!tool) return tool;
  return without_secrets(*std::move(tool), private_values(file, place, file.tools.shell->pass_env));
}

Result<std::vector<ToolSpec>> make_files(const AgentFile& file, const AgentPlace& place) {
  FileToolsSpec files = *file.tools.files;
  files.roots = whole_roots(file);
  for (const PermitRule& rule : file.permissions.paths) {
    if (rule.permit == Permit::deny) files.hidden.push_back(rule.pattern);
    if (rule.permit == Permit::ask) files.asked.push_back(rule.pattern);
  }
  const GuardedPaths guarded = guarded_paths(file, place);
  // With all that is in it, if it is a folder.
  for (const std::string& path : guarded.hidden) files.hidden.push_back(path + "/**");
  files.hidden.push_back(fmt::format("**/{}/**", agent_file::project_folder));
  files.read_only = guarded.read_only;
  auto tools = make_file_tools(files);
  if (!tools) return tools;
  for (ToolSpec& tool : *tools) {
    tool = without_secrets(std::move(tool), private_values(file, place, {}));
  }
  return tools;
}

Result<ApiKey> read_key(const AgentFile& file, const Environment& environment) {
  if (!file.model.key_variable.empty()) {
    return api_key_from_environment(environment, file.model.key_variable);
  }
  if (file.model.key_file.empty()) return ApiKey();
  return api_key_from_file(whole_path(file, file.model.key_file));
}

}  // namespace

Result<Toolbox> make_toolbox(const AgentFile& file, const AgentPlace& place) {
  const auto secrets = Secrets::of(whole_secrets(file), place.environment);
  if (!secrets) return fail(secrets.error().code, secrets.error().message);
  std::vector<ToolSpec> tools;
  if (file.tools.files) {
    auto files = make_files(file, place);
    if (!files) return forward(files);
    append(tools, *std::move(files));
  }
  if (file.tools.shell) {
    auto shell = make_shell(file, place);
    if (!shell) return forward(shell);
    tools.push_back(*std::move(shell));
  }
  if (file.tools.plan) append(tools, make_plan_tools());
  if (file.tools.notes) append(tools, make_note_tools());
  if (file.tools.ask_user) tools.push_back(make_ask_tool());
  for (const AgentProgram& program : file.tools.programs) {
    auto tool = make_program(file, program, place, *secrets);
    if (!tool) return forward(tool);
    tools.push_back(*std::move(tool));
  }
  return Toolbox::of(std::move(tools));
}

Result<std::unique_ptr<Provider>> make_provider(const AgentFile& file,
                                                const Environment& environment,
                                                const ModelServices& services) {
  const ModelSpec& model = file.model;
  if (model.provider == ProviderKind::scripted) return make_scripted(model.script);
  auto key = read_key(file, environment);
  if (!key) return forward(key);
  HttpProviderOptions http{.base_url = model.base_url,
                           .key = *std::move(key),
                           .timeouts = model.timeouts,
                           .response_bytes_max = model.response_bytes_max,
                           .headers = model.headers};
  if (!model.ca_file.empty()) http.ca_file = whole_path(file, model.ca_file);
  http.retry.total = model.retry_for;
  http.tokens_out_max = model.tokens_out_max;
  if (model.provider == ProviderKind::anthropic) {
    return make_anthropic(
        {.http = std::move(http), .version = model.version, .cache_hints = model.cache_hints},
        services);
  }
  return make_chat_completions({.http = std::move(http),
                                .system_role = model.system_role,
                                .sends_reasoning = model.sends_reasoning,
                                .cap_parameter = model.cap_parameter},
                               services);
}

Result<AgentSpec> make_agent_spec(const AgentFile& file, const AgentPlace& place,
                                  const ModelServices& services) {
  auto tools = make_toolbox(file, place);
  if (!tools) return forward(tools);
  AgentSpec spec{.setup = {.system_prompt = file.system_prompt,
                           .model = file.model.id,
                           .parameters = file.model.parameters,
                           .tools = tools->definitions()},
                 .tools = *std::move(tools),
                 .permissions = file.permissions,
                 .on_doubt = file.on_doubt,
                 .cadence = file.cadence,
                 .limits = file.limits,
                 .budget_micros = file.budget_micros,
                 .scratchpad_folder =
                     file.scratchpad_folder.empty() ? "" : whole_path(file, file.scratchpad_folder),
                 .digest = agent_digest(file),
                 .on_change = file.on_change};
  for (const auto& [model, price] : file.prices) spec.prices.set(model, price);
  spec.make_provider = [file, environment = place.environment, services](const Setup&) {
    return make_provider(file, environment, services);
  };
  return spec;
}

}  // namespace perdure
