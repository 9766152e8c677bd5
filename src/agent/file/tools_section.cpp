// `roots`, `secrets`, `tools` and `scratchpad`: what the model may call, and with what.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "file/fields.hpp"
#include "file/reading.hpp"
#include "file/sections.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/exec_tool.hpp"
#include "perdure/agent/file_tools.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/shell_tool.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::agent_file {
namespace {

std::vector<FileRoot> roots_from(Reading& reading) {
  std::vector<FileRoot> roots;
  const Json* list = reading.value().find("roots");
  if (list == nullptr) return roots;
  std::set<std::string> names;
  for (const Json& element : *list->as_array()) {
    FileRoot& root = roots.emplace_back();
    const Fields fields(element);
    fields.read("name", root.name);
    fields.read("path", root.path);
    fields.read("writable", root.is_writable);
    const std::string pointer = "/roots/" + std::to_string(roots.size() - 1);
    const bool is_nameless = list->as_array()->size() > 1 && root.name.empty();
    if (is_nameless) reading.found(pointer, "roots: of several, each needs a name");
    if (!root.name.empty() && !names.insert(root.name).second) {
      reading.found(pointer + "/name", "roots: there are two named " + root.name);
    }
  }
  return roots;
}

std::vector<SecretSpec> secrets_from(const Fields& fields) {
  std::vector<SecretSpec> secrets;
  for (const auto& [name, source] : fields.members("secrets")) {
    SecretSpec& secret = secrets.emplace_back();
    secret.name = name;
    Fields(source).read("env", secret.variable);
    Fields(source).read("file", secret.file);
  }
  return secrets;
}

FileToolsSpec files_from(Reading& reading, const Fields& fields) {
  FileToolsSpec files;
  fields.read("hidden", files.hidden);
  for (std::size_t i = 0; i < files.hidden.size(); ++i) {
    check_path_pattern(reading, fmt::format("/tools/files/hidden/{}", i), "tools.files.hidden",
                       files.hidden[i]);
  }
  fields.read("read_bytes_max", files.read_bytes_max);
  fields.read("file_bytes_max", files.file_bytes_max);
  fields.read("entries_max", files.entries_max);
  fields.read("matches_max", files.matches_max);
  return files;
}

AgentShell shell_from(const Fields& fields) {
  AgentShell made;
  ShellSpec& shell = made.shell;
  const bool is_bare = fields.word("sandbox", "bubblewrap") == "none";
  shell.sandbox = is_bare ? Sandbox::none : Sandbox::bubblewrap;
  fields.read("network", shell.has_network);
  fields.read("hidden", shell.hidden);
  fields.read("env", shell.environment);
  fields.read("pass_env", made.pass_env);
  fields.read("timeout", shell.timeout);
  fields.read("output_bytes_max", shell.output_bytes_max);
  return made;
}

void read_declarations(const Fields& fields, Tool& tool) {
  fields.read("description", tool.description);
  const Json* input = fields.find("input");
  tool.input_schema = input == nullptr ? R"({"type":"object"})" : input->text();
  if (const Json* touched = fields.find("side_effects")) {
    SideEffects& effects = tool.side_effects.emplace();
    for (const Json& word : *touched->as_array()) {
      effects.read |= word == Json("read");
      effects.write |= word == Json("write");
      effects.network |= word == Json("network");
      effects.mutate |= word == Json("mutate");
    }
  }
  fields.read("honours_key", tool.honours_key);
  if (fields.has("key_window")) fields.read("key_window", tool.key_window.emplace());
  fields.read("business_key", tool.business_key);
  fields.read("timeout", tool.timeout);
  fields.read("verify_timeout", tool.verify_timeout);
  fields.read("in_flight_max", tool.in_flight_max);
  fields.read("attempts_max", tool.attempts_max);
  const bool is_narrow = fields.word("blocking", "same_tool") == "same_arguments";
  tool.blocking = is_narrow ? Blocking::same_arguments : Blocking::same_tool;
}

AgentProgram program_from(const std::string& name, const Fields& fields) {
  AgentProgram made;
  ExecSpec& exec = made.exec;
  exec.spec.tool.name = name;
  read_declarations(fields, exec.spec.tool);
  fields.read("command", exec.command);
  fields.read("verify", exec.verify);
  fields.object("exit_codes").read("error", exec.error_codes);
  fields.object("exit_codes").read("nothing", exec.nothing_codes);
  fields.read("secrets", exec.spec.secrets);
  fields.read("env", exec.environment);
  fields.read("pass_env", made.pass_env);
  exec.folder = fields.word("folder", ".");
  fields.read("path_args", exec.spec.path_args.pointers);
  fields.read("poll", exec.spec.is_poll);
  fields.read("output_bytes_max", exec.output_bytes_max);
  return made;
}

// As the runtime and the toolbox will judge it, once it has something to run.
void check_program(Reading& reading, const std::string& pointer, const AgentProgram& program) {
  Tool tool = program.exec.spec.tool;
  tool.run = [](const CallContext&) { return Failed{}; };
  if (!program.exec.verify.empty()) {
    tool.verify = [](const VerifyContext&) { return CannotTell{}; };
  }
  if (auto tools = Tools::of({tool}); !tools) {
    reading.found(pointer, tools.error().message);
  } else if (auto box = Toolbox::of({ToolSpec{.tool = tool}}); !box) {
    reading.found(pointer + "/input", box.error().message);
  }
}

// What the tools are called that the file asks for besides its programs.
std::set<std::string> taken_names(const AgentTools& tools) {
  std::set<std::string> names;
  if (tools.files) names = {"read_file", "list_files", "search_files", "write_file", "edit_file"};
  if (tools.shell) names.insert(tools.shell->shell.name);
  std::vector<ToolSpec> over_session;
  if (tools.plan) over_session = make_plan_tools();
  if (tools.notes) std::ranges::move(make_note_tools(), std::back_inserter(over_session));
  if (tools.ask_user) over_session.push_back(make_ask_tool());
  for (const ToolSpec& spec : over_session) names.insert(spec.tool.name);
  return names;
}

void check_secrets(Reading& reading, const std::string& pointer, const AgentProgram& program,
                   const std::vector<SecretSpec>& secrets) {
  for (const std::string& secret : program.exec.spec.secrets) {
    if (std::ranges::find(secrets, secret, &SecretSpec::name) != secrets.end()) continue;
    reading.found(
        pointer + "/secrets",
        fmt::format("{}: \"{}\" is not among the secrets; write secrets: {{{}: {{env: VARIABLE}}}}",
                    program.exec.spec.tool.name, secret, secret));
  }
}

void read_programs(Reading& reading, const Fields& fields, AgentFile& to) {
  const std::string repeat = Fields(reading.value()).word("repeat", to_string(Repeat::each_call));
  const std::set<std::string> taken = taken_names(to.tools);
  for (const auto& [name, value] : fields.members("exec")) {
    const std::string pointer = pointer_to("/tools/exec", name);
    AgentProgram program = program_from(name, Fields(value));
    Tool& tool = program.exec.spec.tool;
    // What only reads is worth asking again, whatever the agent's rule.
    const bool only_reads = effect_class_of(tool) == EffectClass::read_only;
    const std::string rule =
        Fields(value).word("repeat", only_reads ? to_string(Repeat::each_call) : repeat);
    tool.repeat = repeat_from(rule).value_or(Repeat::each_call);
    check_program(reading, pointer, program);
    check_secrets(reading, pointer, program, to.secrets);
    if (taken.contains(name)) {
      reading.found(pointer,
                    name + ": is a tool of this agent already; give the program another name");
    }
    to.tools.programs.push_back(std::move(program));
  }
  std::ranges::sort(to.tools.programs, {},
                    [](const AgentProgram& program) { return program.exec.spec.tool.name; });
}

}  // namespace

void read_tools(Reading& reading, AgentFile& to) {
  to.roots = roots_from(reading);
  to.secrets = secrets_from(Fields(reading.value()));
  const Fields fields = Fields(reading.value()).object("tools");
  if (fields.has("files")) to.tools.files = files_from(reading, fields.object("files"));
  if (fields.has("shell")) to.tools.shell = shell_from(fields.object("shell"));
  for (const char* key : {"files", "shell"}) {
    if (!fields.has(key) || !to.roots.empty()) continue;
    reading.found(pointer_to("/tools", key),
                  std::string("tools.") + key + ": needs a root; write roots: [{path: FOLDER}]");
  }
  fields.read("plan", to.tools.plan);
  fields.read("notes", to.tools.notes);
  fields.read("ask_user", to.tools.ask_user);
  Fields(reading.value()).object("scratchpad").read("folder", to.scratchpad_folder);
  if (!to.scratchpad_folder.empty() && !to.tools.notes) {
    reading.found("/scratchpad", "scratchpad: needs notes; write tools: {notes: true}");
  }
  read_programs(reading, fields, to);
}

}  // namespace perdure::agent_file
