// From a file to what runs: paths become whole, variables are read, secrets bound.

#include "perdure/agent/agent_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/agent_paths.hpp"
#include "file/private_values.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/api_key.hpp"
#include "perdure/agent/environment.hpp"
#include "perdure/agent/exec_tool.hpp"
#include "perdure/agent/file_tools.hpp"
#include "perdure/agent/path_args.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/prices.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/shell_tool.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"

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
