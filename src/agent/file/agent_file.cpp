// Bytes to an agent file: what is no text is refused first, then what is no YAML, then what is no
// agent.

#include "agent/api/agent_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/api/json_schema.hpp"
#include "core/api/guarded.hpp"
#include "core/api/text.hpp"
#include "file/sections.hpp"
#include "file/yaml_document.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure::agent_file {

// The schema is the one description of the format: what is required, known and allowed, and in its
// `description`s what to write instead.

namespace {

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

// The part of the schema that holds the keyword at `rule`; keys of our schema need no escapes.
const Json* rule_node(std::string_view rule) {
  const Json* node = &rules().json;
  const std::size_t last = std::min(rule.rfind('/'), rule.size());
  std::string_view rest = rule.substr(0, last);
  while (node != nullptr && !rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    node = node->find(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return node;
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

// Where the name of a secret goes somebody may have written the secret: it is not shown.
std::string message_of(const SchemaError& error) {
  const std::string_view at = error.at;
  if (!at.starts_with("/model/key") && !at.starts_with("/secrets/")) return error.message;
  const std::size_t shown = std::min(error.message.find(", not the "), error.message.find("; is "));
  return error.message.substr(0, shown);
}

// Unknown keys are told in the order in which they stand: the nth error is about the nth of them.
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

// Empty: the document is of the form that sections.hpp reads.
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

}  // namespace

}  // namespace perdure::agent_file

namespace perdure {
namespace agent_file {
namespace {

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

std::string Reading::content(std::string_view pointer, const std::string& path) {
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

}  // namespace agent_file

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
