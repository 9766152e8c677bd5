// The sections of an agent file: the model, the tools, the rules.

#include "file/sections.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"

namespace perdure::agent_file {
namespace {

const Json& nothing() {
  static const Json empty = Json::Object{};
  return empty;
}

std::int64_t digits_in(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Duration duration_from(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const std::string_view unit = text.substr(end);
  const std::int64_t number = digits_in(text.substr(0, end));
  if (unit == "ms") return std::chrono::milliseconds(number);
  if (unit == "s") return std::chrono::seconds(number);
  if (unit == "m") return std::chrono::minutes(number);
  if (unit == "h") return std::chrono::hours(number);
  return std::chrono::hours(number * 24);
}

}  // namespace

Fields Fields::object(std::string_view key) const {
  const Json* found = find(key);
  return Fields(found != nullptr && found->is_object() ? *found : nothing());
}

const Json::Object& Fields::members(std::string_view key) const {
  return *object(key).object_->as_object();
}

// 5.0 is an integer too.
std::int64_t Fields::whole(const Json& number) { return digits_in(*number.number_token()); }

void Fields::take(const Json& json, Duration& to) { to = duration_from(*json.as_string()); }

std::string Fields::word(std::string_view key, std::string_view otherwise) const {
  const Json* found = find(key);
  const auto* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string(otherwise) : *text;
}

std::string pointer_to(std::string_view pointer, std::string_view member) {
  return std::string(pointer) + '/' + pointer_part(member);
}

namespace {

ProviderKind provider_from(const std::string& word) {
  if (word == "anthropic") return ProviderKind::anthropic;
  return word == "openai" ? ProviderKind::openai : ProviderKind::scripted;
}

void read_script(Reading& reading, const Fields& fields, ModelSpec& model) {
  std::string path;
  fields.read("script", path);
  model.script = reading.content("/model/script", path);
  if (model.script.empty()) return;
  if (auto made = make_scripted(model.script); !made) {
    reading.found("/model/script", "model.script: " + path + ": " + made.error().message);
  }
}

}  // namespace

ModelSpec read_model(Reading& reading) {
  const Fields fields = Fields(reading.value()).object("model");
  ModelSpec model;
  model.provider = provider_from(fields.word("provider", ""));
  fields.read("id", model.id);
  fields.read("base_url", model.http.base_url);
  if (const Json* parameters = fields.find("parameters")) {
    model.parameters = RawJson::from_value(*parameters);
  }
  fields.object("key").read("env", model.key_variable);
  fields.object("key").read("file", model.key_file);
  fields.read("ca_file", model.http.ca_file);
  const Fields timeouts = fields.object("timeouts");
  timeouts.read("connect", model.http.timeouts.connect);
  timeouts.read("first_byte", model.http.timeouts.first_byte);
  timeouts.read("idle", model.http.timeouts.idle);
  fields.read("retry_for", model.http.retry.total);
  fields.read("response_bytes_max", model.http.response_bytes_max);
  for (const auto& [name, value] : fields.members("headers")) {
    model.http.headers.emplace_back(name, *value.as_string());
  }
  fields.read("tokens_out_max", model.http.tokens_out_max);
  fields.read("cache_hints", model.cache_hints);
  fields.read("version", model.version);
  fields.read("sends_reasoning", model.sends_reasoning);
  fields.read("system_role", model.system_role);
  fields.read("cap_parameter", model.cap_parameter);
  if (model.provider == ProviderKind::scripted) {
    model.id = "scripted";  // By which a price is found.
    read_script(reading, fields, model);
  }
  return model;
}

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

namespace {

Permit permit_from(const std::string& word) {
  if (word == "allow") return Permit::allow;
  return word == "deny" ? Permit::deny : Permit::ask;
}

std::vector<PermitRule> rules_from(const Fields& fields, const char* key) {
  std::vector<PermitRule> rules;
  for (const auto& [pattern, permit] : fields.members(key)) {
    rules.push_back({.pattern = pattern, .permit = permit_from(*permit.as_string())});
  }
  return rules;
}

Permissions permissions_from(const Fields& fields) {
  Permissions permissions;
  const auto read = [&](const char* key, Permit& to) {
    to = permit_from(fields.word(key, to_string(to)));
  };
  read("read", permissions.read);
  read("write", permissions.write);
  read("network", permissions.network);
  read("mutate", permissions.mutate);
  read("undeclared", permissions.undeclared);
  permissions.tools = rules_from(fields, "tools");
  permissions.paths = rules_from(fields, "paths");
  return permissions;
}

Cadence cadence_from(const Fields& fields) {
  Cadence cadence;
  const Json* found = fields.find("cadence");
  if (found == nullptr) return cadence;
  if (const auto* word = found->as_string()) {
    cadence.at = *word == "call" ? Cadence::At::call : Cadence::At::turn;
    return cadence;
  }
  cadence.at = Cadence::At::period;
  Fields(*found).read("turns", cadence.turns);
  Fields(*found).read("time", cadence.time);
  return cadence;
}

OnChange on_change_from(const std::string& word) {
  if (word == "continue") return OnChange::go_on;
  return word == "refuse" ? OnChange::refuse : OnChange::ask;
}

// Money is read from its digits. What is too close to six decimals for the schema to tell is found
// here.
std::optional<std::int64_t> micros_in(Reading& reading, std::string_view pointer,
                                      const Fields& fields, std::string_view key) {
  const Json* found = fields.find(key);
  if (found == nullptr) return std::nullopt;
  const std::string& token = *found->number_token();
  // The schema leaves only a zero with a sign, which must not pass for no limit.
  if (token.starts_with('-')) return 0;
  const auto micros = micros_from_dollars(token);
  if (!micros) {
    reading.found(pointer_to(pointer, key),
                  fmt::format("{}: has more than six decimals; write dollars, like 2.50", key));
  }
  return micros;
}

Price price_from(Reading& reading, const std::string& pointer, const Fields& fields) {
  const auto micros = [&](std::string_view key) {
    return micros_in(reading, pointer, fields, key);
  };
  const std::int64_t input = micros("input").value_or(0);
  return {.input = input,
          .output = micros("output").value_or(0),
          .cache_read = micros("cache_read").value_or(input),
          .cache_write = micros("cache_write").value_or(input)};
}

bool has_way_up(std::string_view pattern) {
  return std::ranges::any_of(pattern | std::views::split('/'), [](const auto& part) {
    return std::ranges::equal(part, std::string_view(".."));
  });
}

}  // namespace

void check_path_pattern(Reading& reading, std::string_view pointer, std::string_view key,
                        std::string_view pattern) {
  if (!has_way_up(pattern)) return;
  reading.found(pointer,
                fmt::format("{}: \"{}\" fits no path, because paths are compared without \"..\"; "
                            "write it relative to a root, or as a whole path",
                            key, pattern));
}

void read_rules(Reading& reading, AgentFile& to) {
  const Fields fields(reading.value());
  to.permissions = permissions_from(fields.object("permissions"));
  for (const PermitRule& rule : to.permissions.paths) {
    check_path_pattern(reading, pointer_to("/permissions/paths", rule.pattern), "permissions.paths",
                       rule.pattern);
  }
  const Fields budget = fields.object("budget");
  to.budget_micros = micros_in(reading, "/budget", budget, "dollars");
  budget.read("warn_percent", to.limits.warn_percent);
  const Fields limits = fields.object("limits");
  limits.read("iterations", to.limits.iterations);
  if (limits.has("time")) limits.read("time", to.limits.time.emplace());
  to.cadence = cadence_from(fields);
  const bool tells = fields.word("on_doubt", "ask") == "tell_model";
  to.on_doubt = tells ? OnDoubt::tell_model : OnDoubt::ask;
  to.on_change = on_change_from(fields.word("on_change", "ask"));
  for (const auto& [model, price] : fields.members("prices")) {
    to.prices.emplace_back(model, price_from(reading, pointer_to("/prices", model), Fields(price)));
  }
}

}  // namespace perdure::agent_file
