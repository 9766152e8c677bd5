// Bytes to an agent file: what is not text is refused first, then what is not YAML, then what is
// not an agent. Its sections are read from JSON that the schema has found to be right; what the
// schema cannot say is checked there.

#include "agent/api/agent_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "core/api/guarded.hpp"
#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "file/yaml_document.hpp"
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

// The schema is the one description of the format: what is required, known and allowed, and in its
// `description`s what to write instead.
struct Rules {
  Json json;
  JsonSchema compiled;
};

// Compiled in, so it is right or the tests fail.
const Rules& rules() {
  static const Rules made = [] {
    Json json = parse_json(agent_schema()).value();
    JsonSchema compiled = JsonSchema::compile(json).value();
    return Rules{std::move(json), std::move(compiled)};
  }();
  return made;
}

// The part of the schema that holds the keyword at `rule`.
const Json* rule_node(std::string_view rule) {
  return find_by_pointer(rules().json, rule.substr(0, std::min(rule.rfind('/'), rule.size())));
}

std::string known_keys(const Json& node) {
  const Json* properties = node.find("properties");
  std::string keys;
  if (properties == nullptr || !properties->is_object()) return keys;
  for (const auto& [key, rule] : *properties->as_object()) keys += (keys.empty() ? "" : ", ") + key;
  return keys;
}

std::string hint_for(const SchemaError& error) {
  const Json* node = rule_node(error.rule);
  if (node == nullptr) return {};
  if (error.rule.ends_with("/additionalProperties")) {
    const bool has_suggestion = error.message.find("did you mean") != std::string::npos;
    return has_suggestion ? "" : "; there are " + known_keys(*node);
  }
  const Json* description = node->find("description");
  const auto* words = description == nullptr ? nullptr : description->as_string();
  return words == nullptr ? "" : fmt::format("; write {}", *words);
}

// "/tools/exec/pay" is "tools.exec.pay".
std::string words_of(std::string_view pointer) {
  if (pointer.empty()) return {};
  std::string words(pointer.substr(1));
  std::ranges::replace(words, '/', '.');
  return words + ": ";
}

// The author may have written a secret where its name belongs: it is not shown.
std::string message_of(const SchemaError& error) {
  const std::string_view at = error.at;
  if (!at.starts_with("/model/key") && !at.starts_with("/secrets/")) return error.message;
  const std::size_t shown = std::min(error.message.find(", not the "), error.message.find("; is "));
  return error.message.substr(0, shown);
}

// Unknown keys are reported in the order of the file: the nth error is about the nth of them.
Position place_of_unknown(const YamlDocument& document, const SchemaError& error, std::size_t nth) {
  const Spot spot = spot_at(document, error.at);
  const Json* node = rule_node(error.rule);
  const Json* known = node == nullptr ? nullptr : node->find("properties");
  if (!spot.value.is_object() || known == nullptr) return spot.place.at;
  const Json::Object& members = *spot.value.as_object();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (known->find(members[i].first) != nullptr) continue;
    if (nth-- == 0) return spot.place.children[i].key;
  }
  return spot.place.at;
}

// Empty: the document is of the form that is read below.
Findings schema_findings(const YamlDocument& document) {
  Findings findings;
  std::map<std::pair<std::string, std::string>, std::size_t> unknown;
  for (const SchemaError& error : rules().compiled.check(document.value)) {
    const bool is_unknown = error.rule.ends_with("/additionalProperties");
    const Position at = is_unknown
                            ? place_of_unknown(document, error, unknown[{error.at, error.rule}]++)
                            : spot_at(document, error.at).place.at;
    findings.push_back({at, words_of(error.at) + message_of(error) + hint_for(error)});
  }
  return findings;
}

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// The first byte of `text` that is not part of UTF-8: the longest prefix that is text ends there.
std::size_t first_bad_byte(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_begin = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (!is_begin) continue;
    if (!is_utf8(text.substr(begin, at - begin))) return begin;
    begin = at;
  }
  return begin;
}

Finding at_byte(std::string_view text, std::size_t byte, std::string what) {
  const std::string_view before = text.substr(0, byte);
  const auto lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t line_begin = lines == 0 ? 0 : before.rfind('\n') + 1;
  return {{.line = lines + 1, .column = byte - line_begin + 1}, std::move(what)};
}

// Empty: it is text.
Findings text_findings(std::string_view text) {
  if (text.size() > agent_file_bytes_max) {
    return {
        {{},
         fmt::format("is too large: whatever an agent is made of (its file, a prompt, a script) "
                     "has {} bytes at most",
                     agent_file_bytes_max)}};
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return {at_byte(text, zero, "a zero byte; save the file as UTF-8 text")};
  }
  if (!is_utf8(text)) {
    return {at_byte(text, first_bad_byte(text), "is not UTF-8; save the file as UTF-8 text")};
  }
  return {};
}

// The same file, whichever system it was written on.
std::string plain_lines(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!is_pair) plain += text[i];
  }
  return plain;
}

std::unexpected<Error> refuse(const std::filesystem::path& path, Findings findings) {
  std::ranges::stable_sort(findings, {}, &Finding::at);
  if (findings.size() > findings_max) findings.resize(findings_max);
  std::string message;
  for (const Finding& finding : findings) {
    message += fmt::format("{}{}:{}:{}: {}", message.empty() ? "" : "\n", path.string(),
                           finding.at.line, finding.at.column, finding.what);
  }
  return fail(ErrorCode::invalid_argument, std::move(message), path.string());
}

// A value that YAML says nothing about is not held against the schema as well.
Findings form_findings(const YamlDocument& document) {
  Findings findings = document.findings;
  if (!document.is_whole) return findings;
  for (Finding& finding : schema_findings(document)) {
    const auto same = std::ranges::find(document.findings, finding.at, &Finding::at);
    if (same == document.findings.end()) findings.push_back(std::move(finding));
  }
  return findings;
}

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

// Reads the values of one object: each is there as declared, or not at all, and then it stays what it
// was.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(&object) {}

  [[nodiscard]] bool has(std::string_view key) const { return object_->find(key) != nullptr; }
  /// The object of that key, or an empty one.
  [[nodiscard]] Fields object(std::string_view key) const {
    const Json* found = find(key);
    return Fields(found != nullptr && found->is_object() ? *found : nothing());
  }
  [[nodiscard]] const Json::Object& members(std::string_view key) const {
    return *object(key).object_->as_object();
  }
  [[nodiscard]] const Json* find(std::string_view key) const { return object_->find(key); }

  /// Leaves `to` as it is if the key is not there.
  template <class Value>
  void read(std::string_view key, Value& to) const {
    if (const Json* found = find(key)) take(*found, to);
  }

  /// The word of that key; `otherwise` if it is not there.
  [[nodiscard]] std::string word(std::string_view key, std::string_view otherwise) const {
    const Json* found = find(key);
    const auto* text = found == nullptr ? nullptr : found->as_string();
    return text == nullptr ? std::string(otherwise) : *text;
  }

 private:
  static void take(const Json& json, std::string& to) { to = *json.as_string(); }
  static void take(const Json& json, bool& to) { to = *json.as_bool(); }
  static void take(const Json& json, std::int64_t& to) { to = whole(json); }
  static void take(const Json& json, std::size_t& to) {
    to = static_cast<std::size_t>(whole(json));
  }
  static void take(const Json& json, int& to) { to = static_cast<int>(whole(json)); }
  static void take(const Json& json, Duration& to) { to = duration_from(*json.as_string()); }
  static void take(const Json& json, std::map<std::string, std::string>& to) {
    for (const auto& [name, value] : *json.as_object()) to[name] = *value.as_string();
  }
  template <class Value>
  static void take(const Json& json, std::vector<Value>& to) {
    to.clear();
    for (const Json& element : *json.as_array()) take(element, to.emplace_back());
  }
  // 5.0 is an integer too.
  static std::int64_t whole(const Json& number) { return digits_in(*number.number_token()); }

  const Json* object_;
};

// A JSON pointer, one member further.
std::string pointer_to(std::string_view pointer, std::string_view member) {
  return std::string(pointer) + '/' + pointer_part(member);
}

// The file while it is read: what is wrong with it, and files that it refers to. All references
// outlive it.
class Reading {
 public:
  Reading(const YamlDocument& document, std::filesystem::path folder, const FileReader& read)
      : document_(document), folder_(std::move(folder)), read_(read) {}

  void found(std::string_view pointer, std::string what) {
    if (findings_.size() == findings_max) return;
    findings_.push_back({spot_at(document_, pointer).place.at, std::move(what)});
  }

  /// The file's content; empty, and found to be wrong, if it cannot be had.
  [[nodiscard]] std::string content(std::string_view pointer, const std::string& path) {
    sources_.push_back((folder_ / path).lexically_normal().string());
    auto text = guarded("`read`", [&] { return read_(folder_ / path); });
    if (!text) {
      found(pointer, text.error().message);
      return {};
    }
    if (const Findings findings = text_findings(*text); !findings.empty()) {
      found(pointer, path + ": " + findings.front().what);
      return {};
    }
    return *std::move(text);
  }

  /// The files whose content was asked for.
  [[nodiscard]] const std::vector<std::string>& sources() const { return sources_; }
  [[nodiscard]] const Json& value() const { return document_.value; }
  [[nodiscard]] Findings findings() && { return std::move(findings_); }

 private:
  const YamlDocument& document_;
  std::filesystem::path folder_;
  const FileReader& read_;
  Findings findings_;
  std::vector<std::string> sources_;
};

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

bool has_way_up(std::string_view pattern) {
  return std::ranges::any_of(pattern | std::views::split('/'), [](const auto& part) {
    return std::ranges::equal(part, std::string_view(".."));
  });
}

// A pattern with ".." would never fit, and what it was to deny or hide would be open.
void check_path_pattern(Reading& reading, std::string_view pointer, std::string_view key,
                        std::string_view pattern) {
  if (!has_way_up(pattern)) return;
  reading.found(pointer,
                fmt::format("{}: \"{}\" fits no path, because paths are compared without \"..\"; "
                            "write it relative to a root, or as a whole path",
                            key, pattern));
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

// Also the roots, the secrets and the scratchpad, which belong to the tools.
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

// Permissions, money, limits, and what is done in doubt.
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

void read_prompt(Reading& reading, AgentFile& to) {
  const Json* prompt = reading.value().find("system_prompt");
  if (prompt == nullptr) return;
  if (const auto* text = prompt->as_string()) {
    to.system_prompt = *text;
    return;
  }
  to.system_prompt =
      plain_lines(reading.content("/system_prompt/file", *prompt->find("file")->as_string()));
}

}  // namespace
}  // namespace perdure::agent_file

namespace perdure {

Result<AgentFile> parse_agent(std::string_view text, const std::filesystem::path& path,
                              const FileReader& read) {
  if (auto findings = agent_file::text_findings(text); !findings.empty()) {
    return agent_file::refuse(path, std::move(findings));
  }
  const auto document = agent_file::read_yaml(agent_file::plain_lines(text));
  if (auto findings = agent_file::form_findings(document); !findings.empty()) {
    return agent_file::refuse(path, std::move(findings));
  }
  AgentFile file;
  file.name = *document.value.find("name")->as_string();
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error).lexically_normal();
  file.folder = whole.parent_path().string();
  agent_file::Reading reading(document, file.folder, read);
  file.model = agent_file::read_model(reading);
  agent_file::read_prompt(reading, file);
  agent_file::read_tools(reading, file);
  agent_file::read_rules(reading, file);
  file.sources = reading.sources();
  file.sources.insert(file.sources.begin(), whole.string());
  if (auto findings = std::move(reading).findings(); !findings.empty()) {
    return agent_file::refuse(path, std::move(findings));
  }
  return file;
}

namespace {

std::unexpected<Error> unreadable(const std::filesystem::path& path, const std::error_code& why) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot read {}: {}; look at who may read it", path.string(),
                          why ? why.message() : "the system does not say why"),
              path.string());
}

}  // namespace

Result<std::string> read_agent_text(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fail(ErrorCode::not_found, "there is no file " + path.string(), path.string());
  }
  if (!std::filesystem::exists(status)) return unreadable(path, error);
  if (!std::filesystem::is_regular_file(status)) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} is {}: name a file", path.string(),
                            std::filesystem::is_directory(status) ? "a folder" : "no plain file"),
                path.string());
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text(agent_file_bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    return unreadable(path, {errno, std::generic_category()});
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

Result<AgentFile> read_agent_file(const std::filesystem::path& path) {
  auto text = read_agent_text(path);
  if (!text) return forward(text);
  return parse_agent(*text, path, read_agent_text);
}

}  // namespace perdure
