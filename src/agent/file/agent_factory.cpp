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
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "core/api/json_text.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "tools/check/paths.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

// What it holds says which store the command line uses in the folder that it is in, and below.
constexpr std::string_view project_folder = ".perdure";

// Whole paths, of files and folders. Read access to the first reveals a key, or lets the reader
// decide in a person's place; write access to the second makes another agent.
struct GuardedPaths {
  std::vector<std::string> hidden{};
  std::vector<std::string> read_only{};
};

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

// Write access to one of them decides what runs outside the sandbox: the program, and the files
// given to it to read, by the name they have and by where links lead.
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
  if (!file.model.http.ca_file.empty()) {
    paths.read_only.push_back(whole_path(file, file.model.http.ca_file));
  }
  for (const AgentProgram& program : file.tools.programs) {
    for (const auto* command : {&program.exec.command, &program.exec.verify}) {
      add_files_of(file, program.exec, *command, paths.read_only);
    }
  }
  return paths;
}

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
// only, and is not an existing path, nor the variable a common one (HOME, LANG ...).
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

// What no answer of an agent's tools may hold: its key, its secrets, and what a tool is passed
// (`pass_env`) that looks like one.
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
  exec.spec.path_args.roots = named_roots(whole_roots(file));
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
  files.hidden.push_back(fmt::format("**/{}/**", project_folder));
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
  HttpProviderOptions http = model.http;
  http.key = *std::move(key);
  if (!http.ca_file.empty()) http.ca_file = whole_path(file, http.ca_file);
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

Result<AgentSpec> make_agent_spec(const std::filesystem::path& path, const AgentPlace& place,
                                  const ModelServices& services) {
  auto file = read_agent_file(path);
  return file ? make_agent_spec(*file, place, services) : forward(file);
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

// The digest of an agent: each part as JSON with all defaults in it, in canonical form, hashed.

namespace {

Json millis(Duration time) { return Json(time.count()); }

Json list_of(const std::vector<std::string>& texts) {
  return Json::Array(texts.begin(), texts.end());
}

// Of lists whose order says nothing.
Json set_of(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return list_of(texts);
}

Json codes_of(std::vector<int> codes) {
  std::ranges::sort(codes);
  return Json::Array(codes.begin(), codes.end());
}

Json variables_of(const std::map<std::string, std::string>& variables) {
  Json::Object object;
  for (const auto& [name, value] : variables) object.emplace_back(name, value);
  return object;
}

Json model_part(const ModelSpec& model) {
  Json::Object headers;
  for (const auto& [name, value] : model.http.headers) headers.emplace_back(name, value);
  Json::Object part{{"provider", static_cast<int>(model.provider)},
                    {"id", model.id},
                    {"base_url", model.http.base_url},
                    {"parameters", model.parameters.value()},
                    {"headers", std::move(headers)},
                    {"cache_hints", model.cache_hints},
                    {"sends_reasoning", model.sends_reasoning},
                    {"script", model.script}};
  // Keys that came later: sessions of before have digests without them.
  const ModelSpec usual;
  if (model.version != usual.version) part.emplace_back("version", model.version);
  if (model.system_role != usual.system_role) part.emplace_back("system_role", model.system_role);
  if (model.cap_parameter != usual.cap_parameter) {
    part.emplace_back("cap_parameter", model.cap_parameter);
  }
  if (model.http.tokens_out_max != usual.http.tokens_out_max) {
    part.emplace_back("tokens_out_max", model.http.tokens_out_max);
  }
  return part;
}

Json rules_of(const std::vector<PermitRule>& rules) {
  Json::Object object;
  for (const PermitRule& rule : rules) object.emplace_back(rule.pattern, to_string(rule.permit));
  return object;
}

Json permissions_part(const Permissions& permissions) {
  return Json::Object{{"read", to_string(permissions.read)},
                      {"write", to_string(permissions.write)},
                      {"network", to_string(permissions.network)},
                      {"mutate", to_string(permissions.mutate)},
                      {"undeclared", to_string(permissions.undeclared)},
                      {"tools", rules_of(permissions.tools)},
                      {"paths", rules_of(permissions.paths)}};
}

// The first root is where a shell's commands begin: their order counts.
Json roots_part(const std::vector<FileRoot>& roots) {
  Json::Array list;
  for (const FileRoot& root : roots) {
    list.emplace_back(
        Json::Object{{"name", root.name}, {"path", root.path}, {"writable", root.is_writable}});
  }
  return list;
}

Json secrets_part(const std::vector<SecretSpec>& secrets) {
  Json::Object object;
  for (const SecretSpec& secret : secrets) {
    object.emplace_back(secret.name, Json::Object{{"env", secret.variable}, {"file", secret.file}});
  }
  return object;
}

Json effects_of(const Tool& tool) {
  if (!tool.side_effects) return {};
  const SideEffects& touched = *tool.side_effects;
  return Json::Array{touched.read, touched.write, touched.network, touched.mutate};
}

Json program_part(const AgentProgram& program) {
  const ExecSpec& exec = program.exec;
  const Tool& tool = exec.spec.tool;
  return Json::Object{{"description", tool.description},
                      {"input", parse_json(tool.input_schema).value_or(Json())},
                      {"side_effects", effects_of(tool)},
                      {"honours_key", tool.honours_key},
                      {"key_window", tool.key_window ? millis(*tool.key_window) : Json()},
                      {"repeat", to_string(tool.repeat)},
                      {"business_key", tool.business_key},
                      {"timeout", millis(tool.timeout)},
                      {"verify_timeout", millis(tool.verify_timeout)},
                      {"in_flight_max", millis(tool.in_flight_max)},
                      {"attempts_max", tool.attempts_max},
                      {"blocking", static_cast<int>(tool.blocking)},
                      {"command", list_of(exec.command)},
                      {"verify", list_of(exec.verify)},
                      {"error_codes", codes_of(exec.error_codes)},
                      {"nothing_codes", codes_of(exec.nothing_codes)},
                      {"secrets", set_of(exec.spec.secrets)},
                      {"env", variables_of(exec.environment)},
                      {"pass_env", set_of(program.pass_env)},
                      {"folder", exec.folder},
                      {"path_args", set_of(exec.spec.path_args.pointers)},
                      {"poll", exec.spec.is_poll},
                      {"output_bytes_max", exec.output_bytes_max}};
}

Json files_part(const FileToolsSpec& files) {
  return Json::Object{{"hidden", set_of(files.hidden)},
                      {"read_bytes_max", files.read_bytes_max},
                      {"file_bytes_max", files.file_bytes_max},
                      {"entries_max", files.entries_max},
                      {"matches_max", files.matches_max}};
}

Json shell_part(const AgentShell& made) {
  const ShellSpec& shell = made.shell;
  return Json::Object{{"sandbox", static_cast<int>(shell.sandbox)},
                      {"network", shell.has_network},
                      {"hidden", set_of(shell.hidden)},
                      {"env", variables_of(shell.environment)},
                      {"pass_env", set_of(made.pass_env)},
                      {"timeout", millis(shell.timeout)},
                      {"output_bytes_max", shell.output_bytes_max}};
}

Json tools_part(const AgentTools& tools) {
  Json::Object programs;
  for (const AgentProgram& program : tools.programs) {
    programs.emplace_back(program.exec.spec.tool.name, program_part(program));
  }
  return Json::Object{{"files", tools.files ? files_part(*tools.files) : Json()},
                      {"shell", tools.shell ? shell_part(*tools.shell) : Json()},
                      {"plan", tools.plan},
                      {"notes", tools.notes},
                      {"ask_user", tools.ask_user},
                      {"exec", std::move(programs)}};
}

// Half of a SHA-256 tells parts apart as well as all of it would. What has no canonical form (a
// number in the parameters that no double holds) is hashed as it is.
std::string line_for(std::string_view part, const Json& value) {
  constexpr std::size_t digits = 32;
  const auto canonical = canonical_json(value);
  const std::string hash = to_hex(sha256(canonical ? *canonical : value.text()));
  return std::string(part) + ' ' + hash.substr(0, digits) + '\n';
}

std::map<std::string, std::string, std::less<>> lines_in(std::string_view digest) {
  std::map<std::string, std::string, std::less<>> lines;
  while (!digest.empty()) {
    const std::size_t end = std::min(digest.find('\n'), digest.size());
    const std::string_view line = digest.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) lines.emplace(line.substr(0, space), line.substr(space));
    digest.remove_prefix(std::min(end + 1, digest.size()));
  }
  return lines;
}

}  // namespace

std::string agent_digest(const AgentFile& file) {
  return line_for("model", model_part(file.model)) +
         line_for("on_doubt", static_cast<int>(file.on_doubt)) +
         line_for("permissions", permissions_part(file.permissions)) +
         line_for("roots", roots_part(file.roots)) +
         line_for("secrets", secrets_part(file.secrets)) +
         line_for("system_prompt", Json(file.system_prompt)) +
         line_for("tools", tools_part(file.tools));
}

std::vector<std::string> changed_parts(std::string_view recorded, std::string_view now) {
  const auto before = lines_in(recorded);
  const auto after = lines_in(now);
  std::vector<std::string> changed;
  for (const auto& [part, hash] : after) {
    const auto found = before.find(part);
    if (found == before.end() || found->second != hash) changed.push_back(part);
  }
  for (const auto& [part, hash] : before) {
    if (!after.contains(part)) changed.push_back(part);
  }
  std::ranges::sort(changed);
  return changed;
}

}  // namespace perdure
