// Keywords whose values are schemas, or lists of names.

#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_pointer.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/node.hpp"
#include "tools/schema/pattern.hpp"

namespace perdure::schema {

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

}  // namespace perdure::schema
