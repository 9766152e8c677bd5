// The digest of an agent: each part as JSON with all defaults in it, in canonical form, hashed.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
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
  for (const auto& [name, value] : model.headers) headers.emplace_back(name, value);
  Json::Object part{{"provider", static_cast<int>(model.provider)},
                    {"id", model.id},
                    {"base_url", model.base_url},
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
  if (model.tokens_out_max != usual.tokens_out_max) {
    part.emplace_back("tokens_out_max", model.tokens_out_max);
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

// Half of a SHA-256 tells parts apart as well as all of it would. What has no canonical form (a number
// in the parameters that no double holds) is hashed as it stands.
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
