// The schema is the one description of the format: what is required, known and allowed, and in its
// `description`s what to write instead.

#include "file/schema_findings.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/agent_schema.hpp"
#include "file/findings.hpp"
#include "file/yaml_document.hpp"
#include "perdure/agent/json_schema.hpp"
#include "perdure/core/json.hpp"

namespace perdure::agent_file {
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

}  // namespace

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

}  // namespace perdure::agent_file
