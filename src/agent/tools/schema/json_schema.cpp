// The face of the parts beside it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/edit_distance.hpp"
#include "text/pattern.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/value.hpp"
#include "tools/secret_ref.hpp"

namespace perdure::schema {

/// A place in the value, as a chain on the stack: written out only when something is wrong there.
struct Place {
  const Place* parent = nullptr;
  std::string_view name{};
  std::size_t index = 0;
  bool is_index = false;
};

class Evaluator {
 public:
  Evaluator(const std::vector<Node>& nodes, bool hides_secrets)
      : nodes_(nodes), hides_secrets_(hides_secrets) {}

  [[nodiscard]] std::vector<SchemaError> run(const Json& value);

 private:
  using Errors = std::vector<SchemaError>;
  struct At {
    const Node& node;
    const Json& value;
    const Place& place;
    Errors& errors;
  };

  /// Whether the value is valid; `errors` gets what is wrong.
  bool holds(NodeId id, const Json& value, const Place& place, Errors& errors);
  bool holds_quietly(NodeId id, const Json& value, const Place& place);

  void check_values(const At& at);
  void check_number(const At& at);
  void check_string(const At& at);
  void check_array(const At& at);
  void check_contained(const At& at, const Json::Array& array);
  void check_unique(const At& at, const Json::Array& array);
  void check_object(const At& at);
  void check_member(const At& at, const std::string& name, const Json& member);
  void check_additional(const At& at, const std::string& name, const Json& member);
  void check_names(const At& at, const std::map<std::string_view, const Json*>& members);
  void check_in_place(const At& at);
  void check_forms(const At& at, const std::vector<NodeId>& forms, bool is_exclusive);
  void check_condition(const At& at);

  bool matches(const Pattern& pattern, std::string_view text);
  void wrong(const At& at, std::string_view keyword, std::string message);
  /// False, and everything ends, when all work is used up.
  bool spend(std::size_t work);

  const std::vector<Node>& nodes_;
  bool hides_secrets_;
  std::size_t work_left_ = 2'000'000;
  std::size_t depth_ = 0;
  bool is_given_up_ = false;
};

// What a node asks of a value by itself, and of its parts. Every step is paid for from one
// allowance: a schema whose forms multiply ends there, and so does a pattern that backtracks.

namespace {

// Frames of `holds`. A value is json_depth_max deep; this is beyond what any tool's schema asks.
constexpr std::size_t depth_max = 2000;

std::uint8_t type_of(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return type_null;
    case Json::Kind::boolean:
      return type_boolean;
    case Json::Kind::number:
      return Number(value).is_integer() ? type_integer : type_number;
    case Json::Kind::string:
      return type_string;
    case Json::Kind::array:
      return type_array;
    case Json::Kind::object:
      return type_object;
  }
  return 0;
}

std::string type_words(std::uint8_t types) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> words = {
      {{type_null, "null"},
       {type_boolean, "a boolean"},
       {type_integer, "an integer"},
       {type_number, "a number"},
       {type_string, "a string"},
       {type_array, "an array"},
       {type_object, "an object"}}};
  // A number may be an integer anyway.
  if ((types & type_number) != 0) types &= static_cast<std::uint8_t>(~type_integer);
  std::string all;
  for (const auto& [bit, word] : words) {
    if ((types & bit) == 0) continue;
    all += all.empty() ? word : fmt::format(" or {}", word);
  }
  return all;
}

// Sequences of UTF-8, and what the three bytes of a lone surrogate are: one each.
std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_among(const Allowed& allowed, const Json& value) {
  return std::ranges::binary_search(allowed.texts, value_text(value));
}

std::string many(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string out_of_range(const Range& range, std::uint64_t size, std::string_view what) {
  if (size < range.min) {
    return fmt::format("must have at least {}, has {}", many(range.min, what), size);
  }
  if (range.max && size > *range.max) {
    return fmt::format("must have at most {}, has {}", many(*range.max, what), size);
  }
  return {};
}

std::string pointer_of(const Place& place) {
  std::string pointer;
  for (const Place* at = &place; at->parent != nullptr; at = at->parent) {
    pointer.insert(0, at->is_index ? std::to_string(at->index) : pointer_part(at->name));
    pointer.insert(0, "/");
  }
  return pointer;
}

}  // namespace

std::vector<SchemaError> Evaluator::run(const Json& value) {
  Errors errors;
  holds(0, value, {}, errors);
  if (is_given_up_) {
    errors.push_back({.message = "takes too much work to check: make it smaller or simpler"});
  }
  return errors;
}

bool Evaluator::spend(std::size_t work) {
  is_given_up_ = is_given_up_ || work > work_left_;
  work_left_ -= std::min(work, work_left_);
  return !is_given_up_;
}

void Evaluator::wrong(const At& at, std::string_view keyword, std::string message) {
  if (at.errors.size() >= schema_errors_max) return;
  at.errors.push_back({.at = pointer_of(at.place),
                       .rule = at.node.place + (keyword.empty() ? "" : fmt::format("/{}", keyword)),
                       .message = std::move(message)});
}

bool Evaluator::holds(NodeId id, const Json& value, const Place& place, Errors& errors) {
  if (!spend(1)) return false;
  if (depth_ >= depth_max) return is_given_up_ = true, false;
  ++depth_;
  Errors mine;
  const At at{nodes_[id], value, place, mine};
  if (at.node.is_never) {
    wrong(at, "", "is not allowed here");
  } else if (hides_secrets_ && is_secret_ref(value)) {
    if (at.node.types && (*at.node.types & type_string) == 0) {
      wrong(at, "type",
            fmt::format("must be {}, and cannot be a secret", type_words(*at.node.types)));
    }
    check_in_place(at);
  } else {
    check_values(at);
    check_number(at);
    check_string(at);
    if (at.node.has_array_rules) check_array(at);
    if (at.node.has_object_rules) check_object(at);
    check_in_place(at);
  }
  --depth_;
  const bool is_valid = mine.empty() && !is_given_up_;
  for (SchemaError& error : mine) {
    if (errors.size() < schema_errors_max) errors.push_back(std::move(error));
  }
  return is_valid;
}

bool Evaluator::holds_quietly(NodeId id, const Json& value, const Place& place) {
  Errors ignored;
  return holds(id, value, place, ignored);
}

void Evaluator::check_values(const At& at) {
  if (at.node.types && (*at.node.types & type_of(at.value)) == 0) {
    wrong(at, "type",
          fmt::format("must be {}, not {}", type_words(*at.node.types), kind_words(at.value)));
  }
  if (!at.node.one_of_values && !at.node.constant) return;
  if (!spend(at.value.text().size() / 64)) return;
  if (at.node.one_of_values && !is_among(*at.node.one_of_values, at.value)) {
    wrong(at, "enum",
          fmt::format("must be one of {}; is {}", at.node.one_of_values->words, shown(at.value)));
  }
  if (at.node.constant && !is_among(*at.node.constant, at.value)) {
    wrong(at, "const", fmt::format("must be {}; is {}", at.node.constant->words, shown(at.value)));
  }
}

void Evaluator::check_number(const At& at) {
  const NumberRules& rules = at.node.number;
  const bool has_rules = rules.minimum || rules.maximum || rules.exclusive_minimum ||
                         rules.exclusive_maximum || rules.multiple_of;
  if (!at.value.is_number() || !has_rules) return;
  if (!spend(at.value.number_token()->size() / 16)) return;
  const Number number(at.value);
  const auto demand = [&](bool holds, std::string_view keyword, std::string_view words,
                          const std::optional<Bound>& bound) {
    if (!bound || holds) return;
    wrong(at, keyword, fmt::format("must be {} {}; is {}", words, bound->words, shown(at.value)));
  };
  demand(rules.minimum && number >= rules.minimum->number, "minimum", "at least", rules.minimum);
  demand(rules.maximum && number <= rules.maximum->number, "maximum", "at most", rules.maximum);
  demand(rules.exclusive_minimum && number > rules.exclusive_minimum->number, "exclusiveMinimum",
         "above", rules.exclusive_minimum);
  demand(rules.exclusive_maximum && number < rules.exclusive_maximum->number, "exclusiveMaximum",
         "below", rules.exclusive_maximum);
  demand(rules.multiple_of && number.is_multiple_of(rules.multiple_of->number), "multipleOf",
         "a multiple of", rules.multiple_of);
}

void Evaluator::check_string(const At& at) {
  const auto* text = at.value.as_string();
  if (text == nullptr) return;
  const bool is_measured = at.node.length.min > 0 || at.node.length.max;
  if (is_measured && !spend(text->size() / 256)) return;
  const std::size_t length = is_measured ? code_points(*text) : 0;
  if (const auto why = out_of_range(at.node.length, length, "character"); !why.empty()) {
    wrong(at, length < at.node.length.min ? "minLength" : "maxLength", why);
  }
  if (!at.node.pattern || matches(*at.node.pattern, *text)) return;
  wrong(
      at, "pattern",
      fmt::format("must match the pattern {}; is {}", at.node.pattern->source(), shown(at.value)));
}

bool Evaluator::matches(const Pattern& pattern, std::string_view text) {
  // Most matches take few steps. One that does not is paid for as if it took all it may.
  constexpr std::size_t few_steps = 500;
  constexpr std::uint32_t many_steps = 200'000;
  constexpr std::size_t price_of_many = 20'000;
  if (!spend(10 + text.size() / 16)) return false;
  Match found = pattern.find_in(
      text, static_cast<std::uint32_t>(std::min<std::size_t>(few_steps + text.size(), many_steps)));
  if (found == Match::too_much_work && spend(price_of_many)) {
    found = pattern.find_in(text, many_steps);
  }
  if (found == Match::too_much_work) is_given_up_ = true;
  return found == Match::yes;
}

void Evaluator::check_array(const At& at) {
  const auto* array = at.value.as_array();
  if (array == nullptr) return;
  const ArrayRules& rules = at.node.array;
  if (const auto why = out_of_range(rules.size, array->size(), "element"); !why.empty()) {
    wrong(at, array->size() < rules.size.min ? "minItems" : "maxItems", why);
  }
  for (std::size_t i = 0; i < array->size() && !is_given_up_; ++i) {
    const Place place{.parent = &at.place, .index = i, .is_index = true};
    if (i < rules.prefix.size()) {
      holds(rules.prefix[i], (*array)[i], place, at.errors);
    } else if (rules.items) {
      holds(*rules.items, (*array)[i], place, at.errors);
    }
  }
  if (rules.contains) check_contained(at, *array);
  if (rules.are_unique) check_unique(at, *array);
}

void Evaluator::check_contained(const At& at, const Json::Array& array) {
  const ArrayRules& rules = at.node.array;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < array.size() && !is_given_up_; ++i) {
    const Place place{.parent = &at.place, .index = i, .is_index = true};
    if (holds_quietly(*rules.contains, array[i], place)) ++count;
  }
  const auto why = out_of_range(rules.contained, count, "element");
  if (!why.empty()) wrong(at, "contains", why + " that fit \"contains\"");
}

void Evaluator::check_unique(const At& at, const Json::Array& array) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::string text = value_text(array[i]);
    if (!spend(1 + text.size() / 64)) return;
    const auto [first, is_new] = seen.try_emplace(std::move(text), i);
    if (is_new) continue;
    wrong(at, "uniqueItems",
          fmt::format("must have no element twice; {} and {} are equal", first->second, i));
    return;
  }
}

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

namespace perdure {

struct JsonSchema::Compiled {
  std::vector<schema::Node> nodes;
};

JsonSchema::JsonSchema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

Result<JsonSchema> JsonSchema::compile(const Json& schema) {
  auto nodes = schema::Compiler(schema).run();
  if (!nodes) return forward(nodes);
  return JsonSchema(std::make_shared<const Compiled>(Compiled{.nodes = *std::move(nodes)}));
}

std::vector<SchemaError> JsonSchema::check(const Json& value) const {
  return schema::Evaluator(compiled_->nodes, false).run(value);
}

std::vector<SchemaError> JsonSchema::check_hiding_secrets(const Json& value) const {
  return schema::Evaluator(compiled_->nodes, true).run(value);
}

}  // namespace perdure
