// What each keyword asks of a value, and of its parts. Every step is paid for from one allowance: a
// schema whose forms multiply ends there, and so does a pattern that backtracks.

#include "agent/api/json_schema.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/wording.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/secret_ref.hpp"

namespace perdure::schema {

/// A place in the value, as a chain on the stack: written out only when something is wrong there.
struct Place {
  const Place* parent = nullptr;
  std::string_view name{};
  std::size_t index = 0;
  bool is_index = false;
};

using Errors = std::vector<SchemaError>;
using Members = std::map<std::string_view, const Json*>;

struct At {
  const Node& node;
  const Json& value;
  const Place& place;
  Errors& errors;
  mutable std::optional<Members> members{};  ///< Of an object, once something asked for them.
};

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

std::string type_words(std::uint64_t types) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> words = {
      {{type_null, "null"},
       {type_boolean, "a boolean"},
       {type_integer, "an integer"},
       {type_number, "a number"},
       {type_string, "a string"},
       {type_array, "an array"},
       {type_object, "an object"}}};
  // A number may be an integer anyway.
  if ((types & type_number) != 0) types &= ~std::uint64_t{type_integer};
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

std::string pointer_of(const Place& place) {
  std::string pointer;
  for (const Place* at = &place; at->parent != nullptr; at = at->parent) {
    pointer.insert(0, at->is_index ? std::to_string(at->index) : pointer_part(at->name));
    pointer.insert(0, "/");
  }
  return pointer;
}

// How a form failed, in a few words.
std::string gist_of(const Errors& errors, const std::string& here) {
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

class Evaluator {
 public:
  Evaluator(const std::vector<Node>& nodes, bool hides_secrets)
      : nodes_(nodes), hides_secrets_(hides_secrets) {}

  [[nodiscard]] Errors run(const Json& value) {
    Errors errors;
    holds(0, value, {}, errors);
    if (is_given_up_) {
      errors.push_back({.message = "takes too much work to check: make it smaller or simpler"});
    }
    return errors;
  }

  void check_type(const At& at, const Rule& rule) {
    if ((rule.count & type_of(at.value)) != 0) return;
    wrong(at, rule.name,
          fmt::format("must be {}, not {}", type_words(rule.count), kind_words(at.value)));
  }

  void check_value(const At& at, const Rule& rule) {
    if (!spend(at.value.text().size() / 64)) return;
    if (std::ranges::binary_search(rule.texts, value_text(at.value))) return;
    const std::string_view one_of = rule.keyword->shape == Shape::values ? "one of " : "";
    wrong(at, rule.name, fmt::format("must be {}{}; is {}", one_of, rule.words, shown(at.value)));
  }

  void check_bound(const At& at, const Rule& rule) {
    if (!at.value.is_number() || !spend(at.value.number_token()->size() / 16)) return;
    const Number number(at.value);
    const Number& bound = *rule.number;
    const std::array<std::tuple<std::string_view, bool, std::string_view>, 5> all = {{
        {"minimum", number >= bound, "at least"},
        {"maximum", number <= bound, "at most"},
        {"exclusiveMinimum", number > bound, "above"},
        {"exclusiveMaximum", number < bound, "below"},
        {"multipleOf", rule.keyword->shape == Shape::divisor && number.is_multiple_of(bound),
         "a multiple of"},
    }};
    for (const auto& [name, is_met, words] : all) {
      if (name != rule.name || is_met) continue;
      wrong(at, name, fmt::format("must be {} {}; is {}", words, rule.words, shown(at.value)));
    }
  }

  void check_length(const At& at, const Rule& rule) {
    const auto* text = at.value.as_string();
    if (text == nullptr || !spend(text->size() / 256)) return;
    check_range(at, rule, code_points(*text), "character");
  }

  void check_pattern(const At& at, const Rule& rule) {
    const auto* text = at.value.as_string();
    if (text == nullptr || matches(rule.patterns.front(), *text)) return;
    wrong(at, rule.name,
          fmt::format("must match the pattern {}; is {}", rule.patterns.front().source(),
                      shown(at.value)));
  }

  void check_size(const At& at, const Rule& rule) {
    const bool is_of_array = rule.keyword->name.ends_with("Items");
    if (is_of_array && at.value.is_array()) {
      check_range(at, rule, at.value.as_array()->size(), "element");
    } else if (!is_of_array && at.value.is_object()) {
      check_range(at, rule, members_of(at).size(), "member");
    }
  }

  // The prefix by its own schemas, what follows it by one.
  void check_items(const At& at, const Rule& rule) {
    const auto* array = at.value.as_array();
    if (array == nullptr) return;
    const Rule* prefix = at.node.find("prefixItems");
    const std::size_t prefixed = prefix == nullptr ? 0 : prefix->nodes.size();
    const bool is_prefix = &rule == prefix;
    const std::size_t end = is_prefix ? std::min(prefixed, array->size()) : array->size();
    for (std::size_t i = is_prefix ? 0 : prefixed; i < end && !is_given_up_; ++i) {
      const Place place{.parent = &at.place, .index = i, .is_index = true};
      holds(rule.nodes[is_prefix ? i : 0], (*array)[i], place, at.errors);
    }
  }

  void check_contained(const At& at, const Rule& rule) {
    const auto* array = at.value.as_array();
    if (array == nullptr) return;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < array->size() && !is_given_up_; ++i) {
      const Place place{.parent = &at.place, .index = i, .is_index = true};
      if (holds_quietly(rule.nodes.front(), (*array)[i], place)) ++count;
    }
    const Keyword least{.name = "minContains"};
    const Rule one{.keyword = &least, .count = 1};
    const Rule* min = at.node.find("minContains");
    const Rule* max = at.node.find("maxContains");
    check_range(at, min == nullptr ? one : *min, count, "element");
    if (max != nullptr) check_range(at, *max, count, "element");
  }

  void check_unique(const At& at, const Rule& rule) {
    const auto* array = at.value.as_array();
    if (array == nullptr || rule.count == 0) return;
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < array->size(); ++i) {
      std::string text = value_text((*array)[i]);
      if (!spend(1 + text.size() / 64)) return;
      const auto [first, is_new] = seen.try_emplace(std::move(text), i);
      if (is_new) continue;
      wrong(at, rule.name,
            fmt::format("must have no element twice; {} and {} are equal", first->second, i));
      return;
    }
  }

  void check_required(const At& at, const Rule& rule) {
    if (!at.value.is_object()) return;
    const Members& members = members_of(at);
    for (const std::string& name : rule.texts) {
      if (!spend(1)) return;
      if (!members.contains(name)) {
        wrong(at, rule.name, fmt::format("lacks the member \"{}\"", name));
      }
    }
  }

  void check_dependent_required(const At& at, const Rule& rule) {
    const Members& members = members_of(at);
    for (const auto& [name, needed] : rule.dependents) {
      if (!members.contains(name)) continue;
      for (const std::string& other : needed) {
        if (!spend(1)) return;
        if (members.contains(other)) continue;
        wrong(at, rule.name, fmt::format("has \"{}\" and therefore needs \"{}\"", name, other));
      }
    }
  }

  // Four keywords say something about each member: the first of them looks at all.
  void check_members(const At& at, const Rule& rule) {
    const auto* object = at.value.as_object();
    const auto first = std::ranges::find_if(at.node.rules, [](const Rule& other) {
      return other.keyword->check == &Evaluator::check_members;
    });
    if (object == nullptr || &rule != &*first) return;
    const Members& members = members_of(at);
    for (const auto& [name, member] : *object) {
      if (is_given_up_) return;
      if (members.at(name) == &member) check_member(at, name, member);
    }
  }

  void check_all(const At& at, const Rule& rule) {
    for (const NodeId id : rule.nodes) holds(id, at.value, at.place, at.errors);
  }

  void check_forms(const At& at, const Rule& rule) {
    const bool is_exclusive = rule.keyword->name == "oneOf";
    std::optional<std::size_t> first;
    std::size_t closest = 0;
    Errors why;
    // A form of another type is further away than any error inside the right one.
    const auto distance = [&](const Errors& errors) {
      const bool is_other = !errors.empty() && errors.front().at == pointer_of(at.place) &&
                            errors.front().rule.ends_with("/type");
      return errors.size() + (is_other ? schema_errors_max + 1 : 0);
    };
    for (std::size_t i = 0; i < rule.nodes.size() && !is_given_up_; ++i) {
      Errors errors;
      if (!holds(rule.nodes[i], at.value, at.place, errors)) {
        if (i != 0 && distance(errors) >= distance(why)) continue;
        why = std::move(errors);
        closest = i;
        continue;
      }
      if (!is_exclusive) return;
      if (first) {
        wrong(at, rule.name,
              fmt::format("must be of one form only; is of {} and of {}", *first + 1, i + 1));
        return;
      }
      first = i;
    }
    if (first || is_given_up_) return;
    wrong(at, rule.name,
          fmt::format("is of none of the {} allowed forms; the closest is {}: {}",
                      rule.nodes.size(), closest + 1, gist_of(why, pointer_of(at.place))));
  }

  void check_not(const At& at, const Rule& rule) {
    if (!holds_quietly(rule.nodes.front(), at.value, at.place)) return;
    wrong(at, rule.name, "is of a form that is not allowed");
  }

  void check_condition(const At& at, const Rule& rule) {
    const bool is_met = holds_quietly(rule.nodes.front(), at.value, at.place);
    const Rule* branch = at.node.find(is_met ? "then" : "else");
    if (branch != nullptr) holds(branch->nodes.front(), at.value, at.place, at.errors);
  }

  void check_dependent(const At& at, const Rule& rule) {
    const Members& members = members_of(at);
    for (const auto& [name, id] : rule.members) {
      if (!members.contains(name)) continue;
      if (!spend(1)) return;
      holds(id, at.value, at.place, at.errors);
    }
  }

 private:
  /// Whether the value is valid; `errors` gets what is wrong.
  bool holds(NodeId id, const Json& value, const Place& place, Errors& errors) {
    if (!spend(1)) return false;
    if (depth_ >= depth_max) {
      is_given_up_ = true;
      return false;
    }
    ++depth_;
    Errors mine;
    const At at{nodes_[id], value, place, mine};
    const bool is_secret = hides_secrets_ && secret_name(value) != nullptr;
    if (at.node.is_never) wrong(at, "", "is not allowed here");
    for (const Rule& rule : at.node.rules) {
      if (rule.keyword->check == nullptr) continue;
      // It must be allowed to be a string, and nothing else is asked of it.
      if (is_secret && rule.keyword->shape == Shape::types && (rule.count & type_string) == 0) {
        wrong(at, "type",
              fmt::format("must be {}, and cannot be a secret", type_words(rule.count)));
      }
      if (is_secret && !rule.keyword->is_in_place) continue;
      (this->*rule.keyword->check)(at, rule);
    }
    --depth_;
    const bool is_valid = mine.empty() && !is_given_up_;
    for (SchemaError& error : mine) {
      if (errors.size() < schema_errors_max) errors.push_back(std::move(error));
    }
    return is_valid;
  }

  bool holds_quietly(NodeId id, const Json& value, const Place& place) {
    Errors ignored;
    return holds(id, value, place, ignored);
  }

  void check_member(const At& at, const std::string& name, const Json& member) {
    const Place place{.parent = &at.place, .name = name};
    const Rule* names = at.node.find("propertyNames");
    if (names != nullptr && !holds_quietly(names->nodes.front(), Json(name), place)) {
      Errors why;
      holds(names->nodes.front(), Json(name), {}, why);
      wrong(at, names->name, fmt::format("the name \"{}\" {}", name, gist_of(why, "")));
    }
    bool is_known = false;
    if (const Rule* properties = at.node.find("properties")) {
      const auto found = properties->members.find(name);
      is_known = found != properties->members.end();
      if (is_known) holds(found->second, member, place, at.errors);
    }
    const Rule* patterns = at.node.find("patternProperties");
    for (std::size_t i = 0; patterns != nullptr && i < patterns->nodes.size(); ++i) {
      if (!matches(patterns->patterns[i], name)) continue;
      is_known = true;
      holds(patterns->nodes[i], member, place, at.errors);
    }
    const Rule* additional = at.node.find("additionalProperties");
    if (!is_known && additional != nullptr) check_additional(at, *additional, name, member);
  }

  void check_additional(const At& at, const Rule& rule, const std::string& name,
                        const Json& member) {
    const NodeId id = rule.nodes.front();
    if (!nodes_[id].is_never) {
      holds(id, member, {.parent = &at.place, .name = name}, at.errors);
      return;
    }
    std::vector<std::string_view> known;
    if (const Rule* properties = at.node.find("properties")) {
      for (const auto& [property, node] : properties->members) known.push_back(property);
    }
    // A suggestion costs more than any other check.
    constexpr std::size_t price_of_a_name = 256;
    if (at.errors.size() >= schema_errors_max || !spend(price_of_a_name * known.size())) return;
    const auto meant = closest_name(name, known);
    wrong(at, rule.name,
          fmt::format("has no member \"{}\"{}", name,
                      meant ? fmt::format("; did you mean \"{}\"?", *meant) : ": leave it out"));
  }

  void check_range(const At& at, const Rule& rule, std::uint64_t size, std::string_view what) {
    const bool is_min = rule.keyword->name.starts_with("min");
    if (is_min ? size >= rule.count : size <= rule.count) return;
    wrong(at, rule.keyword->name.ends_with("Contains") ? "contains" : rule.name,
          fmt::format("must have at {} {} {}{}, has {}{}", is_min ? "least" : "most", rule.count,
                      what, rule.count == 1 ? "" : "s", size,
                      rule.keyword->name.ends_with("Contains") ? " that fit \"contains\"" : ""));
  }

  /// Empty if the value is not an object, or there is no work left for it.
  // Of two members of one name the last counts.
  const Members& members_of(const At& at) {
    if (at.members) return *at.members;
    at.members.emplace();
    const auto* object = at.value.as_object();
    if (object == nullptr || !spend(object->size())) return *at.members;
    for (const auto& [name, member] : *object) (*at.members)[name] = &member;
    return *at.members;
  }

  bool matches(const Pattern& pattern, std::string_view text) {
    // Most matches take few steps. One that does not is paid for as if it took all it may.
    constexpr std::size_t few_steps = 500;
    constexpr std::uint32_t many_steps = 200'000;
    constexpr std::size_t price_of_many = 20'000;
    if (!spend(10 + text.size() / 16)) return false;
    Match found = pattern.find_in(text, static_cast<std::uint32_t>(std::min<std::size_t>(
                                            few_steps + text.size(), many_steps)));
    if (found == Match::too_much_work && spend(price_of_many)) {
      found = pattern.find_in(text, many_steps);
    }
    if (found == Match::too_much_work) is_given_up_ = true;
    return found == Match::yes;
  }

  void wrong(const At& at, std::string_view keyword, std::string message) {
    if (at.errors.size() >= schema_errors_max) return;
    at.errors.push_back(
        {.at = pointer_of(at.place),
         .rule = at.node.place + (keyword.empty() ? "" : fmt::format("/{}", keyword)),
         .message = std::move(message)});
  }

  /// False, and everything ends, when all work is used up.
  bool spend(std::size_t work) {
    is_given_up_ = is_given_up_ || work > work_left_;
    work_left_ -= std::min(work, work_left_);
    return !is_given_up_;
  }

  const std::vector<Node>& nodes_;
  bool hides_secrets_;
  std::size_t work_left_ = 2'000'000;
  std::size_t depth_ = 0;
  bool is_given_up_ = false;
};

std::span<const Keyword> keywords() {
  using E = Evaluator;
  static constexpr std::array<Keyword, 38> all = {{
      {"type", Shape::types, &E::check_type},
      {"enum", Shape::values, &E::check_value},
      {"const", Shape::value, &E::check_value},
      {"minimum", Shape::number, &E::check_bound},
      {"maximum", Shape::number, &E::check_bound},
      {"exclusiveMinimum", Shape::number, &E::check_bound},
      {"exclusiveMaximum", Shape::number, &E::check_bound},
      {"multipleOf", Shape::divisor, &E::check_bound},
      {"minLength", Shape::count, &E::check_length},
      {"maxLength", Shape::count, &E::check_length},
      {"pattern", Shape::pattern, &E::check_pattern},
      {"minItems", Shape::count, &E::check_size},
      {"maxItems", Shape::count, &E::check_size},
      {"prefixItems", Shape::schemas, &E::check_items},
      {"items", Shape::schema, &E::check_items},
      {"contains", Shape::schema, &E::check_contained},
      {"minContains", Shape::count},
      {"maxContains", Shape::count},
      {"uniqueItems", Shape::flag, &E::check_unique},
      {"minProperties", Shape::count, &E::check_size},
      {"maxProperties", Shape::count, &E::check_size},
      {"required", Shape::names, &E::check_required},
      {"dependentRequired", Shape::dependents, &E::check_dependent_required},
      {"propertyNames", Shape::schema, &E::check_members},
      {"properties", Shape::members, &E::check_members},
      {"patternProperties", Shape::patterns, &E::check_members},
      {"additionalProperties", Shape::schema, &E::check_members},
      {"$ref", Shape::reference, &E::check_all, true},
      {"allOf", Shape::schemas, &E::check_all, true},
      {"anyOf", Shape::schemas, &E::check_forms, true},
      {"oneOf", Shape::schemas, &E::check_forms, true},
      {"not", Shape::schema, &E::check_not, true},
      {"if", Shape::schema, &E::check_condition, true},
      {"then", Shape::schema, nullptr, true},
      {"else", Shape::schema, nullptr, true},
      {"dependentSchemas", Shape::members, &E::check_dependent, true},
      {"$defs", Shape::members},
      {"definitions", Shape::members},
  }};
  return all;
}

}  // namespace perdure::schema

namespace perdure {

struct JsonSchema::Compiled {
  std::vector<schema::Node> nodes;
};

JsonSchema::JsonSchema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

Result<JsonSchema> JsonSchema::compile(const Json& schema) {
  auto nodes = schema::compile_nodes(schema);
  if (!nodes) return forward(nodes);
  return JsonSchema(std::make_shared<const Compiled>(Compiled{.nodes = *std::move(nodes)}));
}

std::vector<SchemaError> JsonSchema::check(const Json& value, bool hides_secrets) const {
  return schema::Evaluator(compiled_->nodes, hides_secrets).run(value);
}

}  // namespace perdure
