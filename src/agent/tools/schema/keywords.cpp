// What each keyword of a schema says. What is not known here is an annotation and is passed
// over, unless it is known to change the answer.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/node.hpp"
#include "tools/schema/number.hpp"
#include "tools/schema/pattern.hpp"
#include "tools/schema/value_text.hpp"

namespace perdure::schema {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> type_names = {{
    {"null", type_null},
    {"boolean", type_boolean},
    {"integer", type_integer},
    {"number", type_number | type_integer},
    {"string", type_string},
    {"array", type_array},
    {"object", type_object},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> refused_keywords = {{
    {"$dynamicRef", "write $ref"},
    {"$dynamicAnchor", "write $anchor"},
    {"$recursiveRef", "write $ref"},
    {"$recursiveAnchor", "write $anchor"},
    {"unevaluatedProperties", "write additionalProperties, beside all properties"},
    {"unevaluatedItems", "write items, beside all of prefixItems"},
    {"nullable", "write \"null\" among the types"},
}};

// Beside `$ref`, in drafts that do not read them there.
constexpr std::array<std::string_view, 10> annotations = {
    "$ref",    "$comment",    "$schema",  "title",    "description",
    "default", "definitions", "examples", "readOnly", "$defs"};

std::optional<std::uint8_t> type_bit(const Json& name) {
  const auto* text = name.as_string();
  const auto* found =
      text == nullptr
          ? type_names.end()
          : std::ranges::find(type_names, *text, [](const auto& type) { return type.first; });
  if (found == type_names.end()) return std::nullopt;
  return found->second;
}

}  // namespace

void Compiler::compile_object(const Json& schema, NodeId id) {
  if (const Json* draft = schema.find("$schema"); draft != nullptr && id == 0) {
    const std::string text = draft->text();
    ignores_siblings_ = text.find("draft-0") != std::string::npos;
  }
  const Json* items = schema.find("items");
  const bool is_tuple = items != nullptr && items->is_array();
  const bool is_only_reference = ignores_siblings_ && schema.find("$ref") != nullptr;
  std::map<std::string_view, const Json*> last;
  for (const auto& [keyword, value] : *schema.as_object()) last[keyword] = &value;
  for (const auto& [keyword, value] : *schema.as_object()) {
    if (error_) return;
    if (last[keyword] != &value) continue;  // Of two members of one name the last counts.
    if (is_only_reference && std::ranges::find(annotations, keyword) == annotations.end()) {
      refuse(id, keyword, ErrorCode::unsupported,
             "stands beside $ref, which its draft ignores and later ones do not; put both into "
             "allOf");
    } else if (keyword == "items" && is_tuple) {
      nodes_[id].has_array_rules = true;
      auto prefix = nodes_of(id, keyword, value);
      nodes_[id].array.prefix = std::move(prefix);
    } else if (keyword == "additionalItems") {
      // Without a tuple it says nothing.
      if (is_tuple) set_array(id, "items", value);
    } else {
      compile_keyword(id, keyword, value);
    }
  }
}

void Compiler::compile_keyword(NodeId id, const std::string& keyword, const Json& value) {
  Node& node = nodes_[id];
  for (const auto& [refused, instead] : refused_keywords) {
    if (keyword != refused) continue;
    refuse(id, keyword, ErrorCode::unsupported,
           fmt::format("{} is not supported; {}", refused, instead));
    return;
  }
  bool is_understood = true;
  if (keyword == "type") {
    is_understood = set_type(node, value);
  } else if (keyword == "enum" || keyword == "const") {
    is_understood = set_values(node, keyword, value);
  } else if (keyword == "pattern") {
    is_understood = set_pattern(node, value);
  } else if (keyword == "$id") {
    set_id(id, value);
  } else {
    is_understood = set_number(node, keyword, value) && set_count(node, keyword, value) &&
                    set_array(id, keyword, value) && set_object(id, keyword, value) &&
                    set_in_place(id, keyword, value);
  }
  if (!is_understood) {
    refuse(id, keyword, ErrorCode::invalid_argument, fmt::format("cannot be {}", shown(value)));
  }
}

bool Compiler::set_type(Node& node, const Json& value) {
  std::uint8_t types = 0;
  const auto single = Json::Array::of(value);
  const auto* names = value.as_array();
  for (const Json& name : names == nullptr ? single : *names) {
    const auto bit = type_bit(name);
    if (!bit) return false;
    types |= *bit;
  }
  node.types = types;
  return types != 0;
}

bool Compiler::set_values(Node& node, const std::string& keyword, const Json& value) {
  const auto single = Json::Array::of(value);
  const auto* values = keyword == "enum" ? value.as_array() : &single;
  if (values == nullptr) return false;
  Allowed allowed;
  for (const Json& each : *values) {
    allowed.texts.push_back(value_text(each));
    constexpr std::size_t words_max = 600;
    if (allowed.words.size() < words_max) {
      allowed.words += (allowed.words.empty() ? "" : ", ") + shown(each);
    } else if (!allowed.words.ends_with("…")) {
      allowed.words += ", …";
    }
  }
  std::ranges::sort(allowed.texts);
  (keyword == "enum" ? node.one_of_values : node.constant) = std::move(allowed);
  return true;
}

bool Compiler::set_number(Node& node, const std::string& keyword, const Json& value) {
  NumberRules& rules = node.number;
  const std::array<std::pair<std::string_view, std::optional<Bound>*>, 5> known = {{
      {"minimum", &rules.minimum},
      {"maximum", &rules.maximum},
      {"exclusiveMinimum", &rules.exclusive_minimum},
      {"exclusiveMaximum", &rules.exclusive_maximum},
      {"multipleOf", &rules.multiple_of},
  }};
  for (const auto& [name, rule] : known) {
    if (name != keyword) continue;
    if (!value.is_number()) return false;
    *rule = Bound{.number = Number(value), .words = shown(value)};
    return keyword != "multipleOf" || (*rule)->number.is_divisor();
  }
  return true;
}

bool Compiler::set_count(Node& node, const std::string& keyword, const Json& value) {
  const std::array<std::pair<std::string_view, Range*>, 4> known = {{
      {"Length", &node.length},
      {"Items", &node.array.size},
      {"Properties", &node.object.size},
      {"Contains", &node.array.contained},
  }};
  for (const auto& [name, range] : known) {
    const bool is_min = keyword == fmt::format("min{}", name);
    if (!is_min && keyword != fmt::format("max{}", name)) continue;
    if (!value.is_number()) return false;
    const auto count = Number(value).as_count();
    if (!count) return false;
    if (is_min) {
      range->min = *count;
    } else {
      range->max = *count;
    }
    node.has_array_rules |= name == "Items" || name == "Contains";
    node.has_object_rules |= name == "Properties";
  }
  return true;
}

bool Compiler::set_pattern(Node& node, const Json& value) {
  if (!value.is_string()) return false;
  auto pattern = Pattern::compile(*value.as_string());
  if (!pattern) {
    refuse(static_cast<NodeId>(&node - nodes_.data()), "pattern", pattern.error().code,
           pattern.error().message);
    return true;
  }
  node.pattern = *std::move(pattern);
  return true;
}

// The root may name itself, and be referred to by that name. Elsewhere it would change what every
// reference below it means.
void Compiler::set_id(NodeId id, const Json& value) {
  const auto* text = value.as_string();
  if (text == nullptr || (id != 0 && !text->starts_with('#'))) {
    refuse(id, "$id", ErrorCode::unsupported, "only the root of a schema may have an $id");
    return;
  }
  if (id == 0) base_ = text->substr(0, text->find('#'));
}

}  // namespace perdure::schema
