// What a node asks of an object, and of a value as a whole: forms, conditions, references.

#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/json_schema.hpp"
#include "perdure/core/json.hpp"
#include "tools/edit_distance.hpp"
#include "tools/schema/evaluator.hpp"
#include "tools/schema/node.hpp"

namespace perdure::schema {
namespace {

std::vector<std::string_view> names_in(const ObjectRules& rules) {
  std::vector<std::string_view> names;
  names.reserve(rules.properties.size());
  for (const auto& [name, node] : rules.properties) names.push_back(name);
  return names;
}

// How a form failed, in a few words.
std::string gist_of(const std::vector<SchemaError>& errors, const std::string& here) {
  constexpr std::size_t told_max = 3;
  std::string gist;
  for (std::size_t i = 0; i < errors.size() && i < told_max; ++i) {
    const std::string at = errors[i].at.substr(here.size());
    gist += fmt::format("{}{}{}{}", i == 0 ? "" : "; ", at, at.empty() ? "it " : " ",
                        errors[i].message);
  }
  return errors.size() > told_max ? gist + "; …" : gist;
}

}  // namespace

void Evaluator::check_object(const At& at) {
  const auto* object = at.value.as_object();
  if (object == nullptr || !spend(object->size())) return;
  std::map<std::string_view, const Json*> members;
  for (const auto& [name, member] : *object) members[name] = &member;
  check_names(at, members);
  for (const auto& [name, member] : *object) {
    // Of two members of one name the last counts.
    if (members[name] == &member && !is_given_up_) check_member(at, name, member);
  }
}

void Evaluator::check_names(const At& at, const std::map<std::string_view, const Json*>& members) {
  const ObjectRules& rules = at.node.object;
  const bool is_few = members.size() < rules.size.min;
  if (is_few || (rules.size.max && members.size() > *rules.size.max)) {
    wrong(at, is_few ? "minProperties" : "maxProperties",
          fmt::format("must have at {} {} members, has {}", is_few ? "least" : "most",
                      is_few ? rules.size.min : *rules.size.max, members.size()));
  }
  for (const std::string& name : rules.required) {
    if (!spend(1)) return;
    if (!members.contains(name))
      wrong(at, "required", fmt::format("lacks the member \"{}\"", name));
  }
  for (const auto& [name, needed] : rules.dependent_required) {
    if (!members.contains(name)) continue;
    for (const std::string& other : needed) {
      if (!spend(1)) return;
      if (members.contains(other)) continue;
      wrong(at, "dependentRequired",
            fmt::format("has \"{}\" and therefore needs \"{}\"", name, other));
    }
  }
}

void Evaluator::check_member(const At& at, const std::string& name, const Json& member) {
  const ObjectRules& rules = at.node.object;
  const Place place{.parent = &at.place, .name = name};
  if (rules.names && !holds_quietly(*rules.names, Json(name), place)) {
    std::vector<SchemaError> why;
    holds(*rules.names, Json(name), {}, why);
    wrong(at, "propertyNames", fmt::format("the name \"{}\" {}", name, gist_of(why, "")));
  }
  bool is_known = false;
  if (const auto found = rules.properties.find(name); found != rules.properties.end()) {
    is_known = true;
    holds(found->second, member, place, at.errors);
  }
  for (const auto& [pattern, node] : rules.patterns) {
    if (!matches(pattern, name)) continue;
    is_known = true;
    holds(node, member, place, at.errors);
  }
  if (!is_known && rules.additional) check_additional(at, name, member);
}

void Evaluator::check_additional(const At& at, const std::string& name, const Json& member) {
  const NodeId id = *at.node.object.additional;
  const Place place{.parent = &at.place, .name = name};
  if (!nodes_[id].is_never) {
    holds(id, member, place, at.errors);
    return;
  }
  // A suggestion costs more than any other check.
  constexpr std::size_t price_of_a_name = 256;
  const bool is_told = at.errors.size() < schema_errors_max &&
                       spend(price_of_a_name * at.node.object.properties.size());
  if (!is_told) return;
  const auto meant = closest_name(name, names_in(at.node.object));
  wrong(at, "additionalProperties",
        fmt::format("has no member \"{}\"{}", name,
                    meant ? fmt::format("; did you mean \"{}\"?", *meant) : ": leave it out"));
}

void Evaluator::check_in_place(const At& at) {
  const Node& node = at.node;
  if (node.reference) holds(*node.reference, at.value, at.place, at.errors);
  for (const NodeId id : node.all_of) holds(id, at.value, at.place, at.errors);
  if (!node.any_of.empty()) check_forms(at, node.any_of, false);
  if (!node.one_of.empty()) check_forms(at, node.one_of, true);
  if (node.negated && holds_quietly(*node.negated, at.value, at.place)) {
    wrong(at, "not", "is of a form that is not allowed");
  }
  if (node.condition) check_condition(at);
  const auto* object = at.value.as_object();
  for (const auto& [name, id] : node.dependent) {
    if (object == nullptr || !spend(1 + object->size() / 64)) break;
    if (at.value.find(name) != nullptr) holds(id, at.value, at.place, at.errors);
  }
}

void Evaluator::check_forms(const At& at, const std::vector<NodeId>& forms, bool is_exclusive) {
  const std::string_view keyword = is_exclusive ? "oneOf" : "anyOf";
  std::optional<std::size_t> first;
  std::size_t closest = 0;
  std::vector<SchemaError> why;
  for (std::size_t i = 0; i < forms.size() && !is_given_up_; ++i) {
    std::vector<SchemaError> errors;
    if (!holds(forms[i], at.value, at.place, errors)) {
      // A form of another type is further away than any error inside the right one.
      const auto distance = [&](const std::vector<SchemaError>& of) {
        const bool is_other = !of.empty() && of.front().at.size() == pointer_of(at.place).size() &&
                              of.front().rule.ends_with("/type");
        return of.size() + (is_other ? schema_errors_max + 1 : 0);
      };
      if (i == 0 || distance(errors) < distance(why)) {
        why = std::move(errors);
        closest = i;
      }
      continue;
    }
    if (!is_exclusive) return;
    if (first) {
      wrong(at, keyword,
            fmt::format("must be of one form only; is of {} and of {}", *first + 1, i + 1));
      return;
    }
    first = i;
  }
  if (first || is_given_up_) return;
  wrong(at, keyword,
        fmt::format("is of none of the {} allowed forms; the closest is {}: {}", forms.size(),
                    closest + 1, gist_of(why, pointer_of(at.place))));
}

void Evaluator::check_condition(const At& at) {
  const bool is_met = holds_quietly(*at.node.condition, at.value, at.place);
  const auto& branch = is_met ? at.node.then : at.node.otherwise;
  if (branch) holds(*branch, at.value, at.place, at.errors);
}

}  // namespace perdure::schema
