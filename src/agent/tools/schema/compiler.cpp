// The list of schemas still to be compiled, and where references lead.

#include "tools/schema/compiler.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"
#include "tools/schema/value.hpp"

namespace perdure::schema {
namespace {

constexpr std::size_t nodes_max = 20'000;

// One part of a pointer inside a URI fragment, without its %-escapes.
std::string unescaped(std::string_view token) {
  std::string bytes;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const auto hex = [&](std::size_t at) {
      const std::string_view digits = "0123456789abcdef0123456789ABCDEF";
      const std::size_t found = at < token.size() ? digits.find(token[at]) : digits.size();
      return found < digits.size() ? static_cast<int>(found % 16) : -1;
    };
    if (token[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      bytes += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else {
      bytes += token[i];
    }
  }
  return bytes;
}

}  // namespace

Result<std::vector<Node>> Compiler::run() {
  node_of(root_, "");
  while (!error_ && (!pending_.empty() || !references_.empty())) {
    if (!pending_.empty()) {
      compile_next();
    } else {
      resolve();
    }
  }
  if (error_) return fail(error_->code, error_->message);
  if (auto ends = check_ends(nodes_); !ends) return forward(ends);
  return std::move(nodes_);
}

NodeId Compiler::node_of(const Json& schema, const std::string& place) {
  const auto [found, is_new] = known_.try_emplace(&schema, nodes_.size());
  if (!is_new) return found->second;
  nodes_.push_back({.place = place});
  pending_.push_back({.schema = &schema, .id = found->second});
  if (nodes_.size() > nodes_max) {
    refuse(found->second, "", ErrorCode::unsupported,
           fmt::format("has more than {} parts", nodes_max));
  }
  return found->second;
}

void Compiler::compile_next() {
  const Pending next = pending_.back();
  pending_.pop_back();
  if (const auto truth = next.schema->as_bool()) {
    nodes_[next.id].is_never = !*truth;
  } else if (next.schema->is_object()) {
    compile_object(*next.schema, next.id);
  } else {
    refuse(next.id, "", ErrorCode::invalid_argument, "a schema is an object, true or false");
  }
}

// All at once: an anchor may stand after what refers to it.
void Compiler::resolve() {
  const std::vector<Reference> references = std::exchange(references_, {});
  for (const auto& [from, target] : references) {
    if (error_) return;
    std::string place;
    std::string_view local = target;
    if (!base_.empty() && local.starts_with(base_)) local.remove_prefix(base_.size());
    if (!local.empty() && !local.starts_with('#')) {
      refuse(from, "$ref", ErrorCode::unsupported,
             fmt::format("leads to \"{}\"; only places within this schema are read, such as "
                         "\"#/$defs/name\"",
                         target));
      return;
    }
    if (!local.empty()) local.remove_prefix(1);
    if (!local.empty() && !local.starts_with('/')) {
      const auto anchor = anchors_.find(local);
      if (anchor == anchors_.end()) {
        refuse(from, "$ref", ErrorCode::invalid_argument, fmt::format("there is no {}", target));
        return;
      }
      nodes_[from].reference = anchor->second;
      continue;
    }
    const Json* schema = find_target(local, place);
    if (schema == nullptr) {
      refuse(from, "$ref", ErrorCode::invalid_argument, fmt::format("there is no {}", target));
      return;
    }
    const NodeId id = node_of(*schema, place);
    nodes_[from].reference = id;
  }
}

const Json* Compiler::find_target(std::string_view target, std::string& place) const {
  const Json* at = &root_;
  while (at != nullptr && !target.empty()) {
    target.remove_prefix(1);
    const std::size_t end = target.find('/');
    const std::string part = unescaped(target.substr(0, end));
    at = find_member(*at, part);
    place += "/" + pointer_part(pointer_name(part));
    target = end == std::string_view::npos ? std::string_view() : target.substr(end);
  }
  return at;
}

void Compiler::refuse(NodeId id, const std::string& keyword, ErrorCode code,
                      const std::string& why) {
  if (error_) return;
  const std::string place = nodes_[id].place + (keyword.empty() ? "" : "/" + pointer_part(keyword));
  error_ =
      Error{code, fmt::format("the JSON Schema at {}: {}", place.empty() ? "its root" : place, why),
            place};
}

// What each keyword of a schema says. What is not known here is an annotation and is passed
// over, unless it is known to change the answer.

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

std::vector<NodeId> Compiler::nodes_of(NodeId id, const std::string& keyword, const Json& value) {
  std::vector<NodeId> found;
  const auto* schemas = value.as_array();
  if (schemas == nullptr || schemas->empty()) {
    refuse(id, keyword, ErrorCode::invalid_argument, "must be a list of schemas");
    return found;
  }
  const std::string place = nodes_[id].place + "/" + keyword;
  for (std::size_t i = 0; i < schemas->size(); ++i) {
    found.push_back(node_of((*schemas)[i], fmt::format("{}/{}", place, i)));
  }
  return found;
}

std::map<std::string, NodeId, std::less<>> Compiler::members_of(NodeId id,
                                                                const std::string& keyword,
                                                                const Json& value) {
  std::map<std::string, NodeId, std::less<>> found;
  if (!value.is_object()) {
    refuse(id, keyword, ErrorCode::invalid_argument, "must be an object of schemas");
    return found;
  }
  const std::string place = nodes_[id].place + "/" + keyword;
  for (const auto& [name, schema] : *value.as_object()) {
    found[name] = node_of(schema, place + "/" + pointer_part(name));
  }
  return found;
}

std::vector<std::string> Compiler::names_of(NodeId id, const std::string& keyword,
                                            const Json& value) {
  std::vector<std::string> names;
  const auto* array = value.as_array();
  bool are_names = array != nullptr;
  for (std::size_t i = 0; are_names && i < array->size(); ++i) {
    const auto* name = (*array)[i].as_string();
    are_names = name != nullptr;
    if (are_names) names.push_back(*name);
  }
  if (!are_names) refuse(id, keyword, ErrorCode::invalid_argument, "must be a list of names");
  return names;
}

bool Compiler::set_array(NodeId id, const std::string& keyword, const Json& value) {
  const std::string place = nodes_[id].place + "/" + keyword;
  if (keyword == "items") {
    const NodeId items = node_of(value, place);
    nodes_[id].array.items = items;
  } else if (keyword == "contains") {
    const NodeId contains = node_of(value, place);
    nodes_[id].array.contains = contains;
  } else if (keyword == "prefixItems") {
    auto prefix = nodes_of(id, keyword, value);
    nodes_[id].array.prefix = std::move(prefix);
  } else if (keyword == "uniqueItems") {
    if (!value.is_bool()) return false;
    nodes_[id].array.are_unique = *value.as_bool();
  } else {
    return true;
  }
  nodes_[id].has_array_rules = true;
  return true;
}

bool Compiler::set_object(NodeId id, const std::string& keyword, const Json& value) {
  const std::string place = nodes_[id].place + "/" + keyword;
  if (keyword == "properties") {
    auto members = members_of(id, keyword, value);
    nodes_[id].object.properties = std::move(members);
  } else if (keyword == "patternProperties") {
    for (const auto& [source, schema] : members_of(id, keyword, value)) {
      auto pattern = Pattern::compile(source);
      if (!pattern) {
        refuse(id, keyword, pattern.error().code, pattern.error().message);
        return true;
      }
      nodes_[id].object.patterns.emplace_back(*std::move(pattern), schema);
    }
  } else if (keyword == "additionalProperties" || keyword == "propertyNames") {
    const NodeId schema = node_of(value, place);
    ObjectRules& rules = nodes_[id].object;
    (keyword == "propertyNames" ? rules.names : rules.additional) = schema;
  } else if (keyword == "required") {
    nodes_[id].object.required = names_of(id, keyword, value);
  } else if (keyword == "dependentRequired") {
    if (!value.is_object()) return false;
    for (const auto& [name, names] : *value.as_object()) {
      nodes_[id].object.dependent_required[name] = names_of(id, keyword, names);
    }
  } else {
    return true;
  }
  nodes_[id].has_object_rules = true;
  return true;
}

// Draft 7: a list is dependentRequired, a schema dependentSchemas.
bool Compiler::set_dependencies(NodeId id, const Json& value) {
  if (!value.is_object()) return false;
  for (const auto& [name, rule] : *value.as_object()) {
    if (rule.is_array()) {
      nodes_[id].object.dependent_required[name] = names_of(id, "dependencies", rule);
      nodes_[id].has_object_rules = true;
      continue;
    }
    const NodeId schema = node_of(rule, nodes_[id].place + "/dependencies/" + pointer_part(name));
    nodes_[id].dependent[name] = schema;
  }
  return true;
}

bool Compiler::set_in_place(NodeId id, const std::string& keyword, const Json& value) {
  const std::array<std::pair<std::string_view, std::vector<NodeId> Node::*>, 3> lists = {
      {{"allOf", &Node::all_of}, {"anyOf", &Node::any_of}, {"oneOf", &Node::one_of}}};
  for (const auto& [name, list] : lists) {
    if (name != keyword) continue;
    auto nodes = nodes_of(id, keyword, value);
    nodes_[id].*list = std::move(nodes);
  }
  const std::array<std::pair<std::string_view, std::optional<NodeId> Node::*>, 4> singles = {
      {{"not", &Node::negated},
       {"if", &Node::condition},
       {"then", &Node::then},
       {"else", &Node::otherwise}}};
  for (const auto& [name, single] : singles) {
    if (name != keyword) continue;
    const NodeId node = node_of(value, nodes_[id].place + "/" + keyword);
    nodes_[id].*single = node;
  }
  if (keyword == "dependentSchemas") {
    for (const auto& [name, node] : members_of(id, keyword, value)) {
      nodes_[id].dependent[name] = node;
    }
  } else if (keyword == "dependencies") {
    return set_dependencies(id, value);
  } else if (keyword == "$defs" || keyword == "definitions") {
    members_of(id, keyword, value);
  } else if (keyword == "$ref" || keyword == "$anchor") {
    if (!value.is_string()) return false;
    if (keyword == "$anchor") anchors_[*value.as_string()] = id;
    if (keyword == "$ref") references_.push_back({.from = id, .target = *value.as_string()});
  }
  return true;
}

// A schema that leads back to itself for the same value would be asked for ever. One that leads
// back for a part of the value ends, because values end.

namespace {

// Each is a few frames of the evaluator, at each depth of a value.
constexpr std::size_t in_place_depth_max = 64;

std::vector<NodeId> in_place_edges(const Node& node) {
  std::vector<NodeId> edges;
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of}) {
    edges.insert(edges.end(), list->begin(), list->end());
  }
  for (const auto& single :
       {node.reference, node.negated, node.condition, node.then, node.otherwise}) {
    if (single) edges.push_back(*single);
  }
  for (const auto& [name, schema] : node.dependent) edges.push_back(schema);
  return edges;
}

// Walks the edges depth first, by a list of its own, and measures the longest way from each node.
class Walk {
 public:
  explicit Walk(const std::vector<Node>& nodes)
      : nodes_(nodes), marks_(nodes.size(), Mark::unseen), depths_(nodes.size(), 1) {}

  /// A node on a cycle; nothing if there is none.
  std::optional<NodeId> find_cycle() {
    for (NodeId start = 0; start < nodes_.size(); ++start) {
      if (marks_[start] == Mark::unseen) enter(start);
      while (!way_.empty()) {
        if (const auto cycle = step()) return cycle;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t depth(NodeId id) const { return depths_[id]; }

 private:
  enum class Mark : std::uint8_t { unseen, under_way, done };
  struct Visit {
    NodeId id;
    std::vector<NodeId> edges;
  };

  void enter(NodeId id) {
    marks_[id] = Mark::under_way;
    way_.push_back({.id = id, .edges = in_place_edges(nodes_[id])});
  }
  std::optional<NodeId> step() {
    if (way_.back().edges.empty()) {
      leave();
      return std::nullopt;
    }
    const NodeId next = way_.back().edges.back();
    way_.back().edges.pop_back();
    if (marks_[next] == Mark::under_way) return next;
    if (marks_[next] == Mark::unseen) enter(next);
    return std::nullopt;
  }
  void leave() {
    const NodeId id = way_.back().id;
    for (const NodeId next : in_place_edges(nodes_[id])) {
      depths_[id] = std::max(depths_[id], depths_[next] + 1);
    }
    marks_[id] = Mark::done;
    way_.pop_back();
  }

  const std::vector<Node>& nodes_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> depths_;
  std::vector<Visit> way_{};
};

}  // namespace

Result<void> check_ends(const std::vector<Node>& nodes) {
  Walk walk(nodes);
  if (const auto cycle = walk.find_cycle()) {
    const std::string& place = nodes[*cycle].place;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the JSON Schema at {} refers to itself without going deeper into the "
                            "value: it would never be done",
                            place.empty() ? "its root" : place));
  }
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (walk.depth(id) <= in_place_depth_max) continue;
    return fail(ErrorCode::unsupported,
                fmt::format("the JSON Schema at {} chains more than {} schemas for one value",
                            nodes[id].place, in_place_depth_max));
  }
  return {};
}

}  // namespace perdure::schema
