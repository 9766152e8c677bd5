// What a node asks of a value by itself, and of its parts. Every step is paid for from one
// allowance: a schema whose forms multiply ends there, and so does a pattern that backtracks.

#include "tools/schema/evaluator.hpp"

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

#include "perdure/agent/json_schema.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_pointer.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/node.hpp"
#include "tools/schema/number.hpp"
#include "tools/schema/pattern.hpp"
#include "tools/schema/value_text.hpp"
#include "tools/secret_ref.hpp"

namespace perdure::schema {
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

}  // namespace

std::string pointer_of(const Place& place) {
  std::string pointer;
  for (const Place* at = &place; at->parent != nullptr; at = at->parent) {
    pointer.insert(0, at->is_index ? std::to_string(at->index) : pointer_part(at->name));
    pointer.insert(0, "/");
  }
  return pointer;
}

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

}  // namespace perdure::schema
