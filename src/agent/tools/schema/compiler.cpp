// From a schema's JSON to its nodes: through a list of what is still to be compiled and never by
// recursion, so that neither a deep schema nor a long chain of references can exhaust the stack.

#include "tools/schema/compiler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/wording.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"

namespace perdure::schema {
namespace {

constexpr std::size_t nodes_max = 20'000;

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> type_names = {{
    {"null", type_null},
    {"boolean", type_boolean},
    {"integer", type_integer},
    {"number", type_number | type_integer},
    {"string", type_string},
    {"array", type_array},
    {"object", type_object},
}};

// A keyword that is not known is an annotation and is passed over, unless it is one of these: they
// would change the answer.
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

const Keyword* find_keyword(std::string_view name) {
  const auto found = std::ranges::find(keywords(), name, &Keyword::name);
  return found == keywords().end() ? nullptr : &*found;
}

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

bool read_types(Rule& rule, const Json& value) {
  const auto single = Json::Array::of(value);
  for (const Json& name : value.is_array() ? *value.as_array() : single) {
    const auto* const text = name.as_string();
    const auto* const found = std::ranges::find(
        type_names, text == nullptr ? std::string_view() : std::string_view(*text),
        &std::pair<std::string_view, std::uint8_t>::first);
    if (found == type_names.end()) return false;
    rule.count |= found->second;
  }
  return rule.count != 0;
}

void read_values(Rule& rule, const Json::Array& values) {
  constexpr std::size_t words_max = 600;
  for (const Json& each : values) {
    rule.texts.push_back(value_text(each));
    if (rule.words.size() < words_max) {
      rule.words += (rule.words.empty() ? "" : ", ") + shown(each);
    } else if (!rule.words.ends_with("…")) {
      rule.words += ", …";
    }
  }
  std::ranges::sort(rule.texts);
}

class Compiler {
 public:
  explicit Compiler(const Json& root) : root_(root) {}

  Result<std::vector<Node>> run() {
    node_of(root_, "");
    while (!error_ && (!pending_.empty() || !references_.empty())) {
      if (!pending_.empty()) {
        compile_next();
      } else {
        // All at once: an anchor may stand after what refers to it.
        for (const auto& [from, target] : std::exchange(references_, {})) resolve(from, target);
      }
    }
    if (error_) return fail(error_->code, error_->message);
    return std::move(nodes_);
  }

 private:
  struct Reference {
    NodeId from;
    std::string target;
  };

  // The node of a schema that is part of the root; compiled later, if it was not met before.
  NodeId node_of(const Json& schema, const std::string& place) {
    const auto [found, is_new] = known_.try_emplace(&schema, nodes_.size());
    if (!is_new) return found->second;
    nodes_.push_back({.place = place});
    pending_.emplace_back(&schema, found->second);
    if (nodes_.size() > nodes_max) {
      refuse(found->second, "", fmt::format("has more than {} parts", nodes_max),
             ErrorCode::unsupported);
    }
    return found->second;
  }

  void compile_next() {
    const auto [schema, id] = pending_.back();
    pending_.pop_back();
    if (const auto truth = schema->as_bool()) {
      nodes_[id].is_never = !*truth;
    } else if (schema->is_object()) {
      compile_object(*schema, id);
    } else {
      refuse(id, "", "a schema is an object, true or false");
    }
  }

  void compile_object(const Json& schema, NodeId id) {
    if (const Json* draft = schema.find("$schema"); draft != nullptr && id == 0) {
      ignores_siblings_ = draft->text().find("draft-0") != std::string::npos;
    }
    const Json* items = schema.find("items");
    const bool is_tuple = items != nullptr && items->is_array();
    const bool is_only_reference = ignores_siblings_ && schema.find("$ref") != nullptr;
    std::map<std::string_view, const Json*> last;
    for (const auto& [name, value] : *schema.as_object()) last[name] = &value;
    for (const auto& [name, value] : *schema.as_object()) {
      if (error_) return;
      if (last[name] != &value) continue;  // Of two members of one name the last counts.
      if (is_only_reference && std::ranges::find(annotations, name) == annotations.end()) {
        refuse(id, name,
               "is beside $ref, which its draft ignores and later ones do not; put both into "
               "allOf",
               ErrorCode::unsupported);
      }
      std::string_view meant = name;
      if (is_tuple && name == "items") {
        // The spelling of draft 7. Beside the one of 2020-12 there would be two tuples.
        if (last.contains("prefixItems")) {
          refuse(id, name, "is a list beside prefixItems; write one of them");
          return;
        }
        meant = "prefixItems";
      }
      if (is_tuple && name == "additionalItems")
        meant = "items";  // Without a tuple it says nothing.
      if (!compile_keyword(id, name, find_keyword(meant), value)) {
        refuse(id, name, fmt::format("cannot be {}", shown(value)));
      }
    }
    std::ranges::sort(nodes_[id].rules, {}, &Rule::keyword);
  }

  // False: the value cannot be that. Where more is to be said they refuse it themselves.
  bool compile_keyword(NodeId id, std::string_view name, const Keyword* keyword,
                       const Json& value) {
    for (const auto& [refused, instead] : refused_keywords) {
      if (name != refused) continue;
      return refuse(id, name, fmt::format("{} is not supported; {}", refused, instead),
                    ErrorCode::unsupported);
    }
    if (name == "$id") return read_id(id, value);
    if (name == "dependencies") return read_dependencies(id, value);
    if (name == "$anchor") {
      if (value.is_string()) anchors_[*value.as_string()] = id;
      return value.is_string();
    }
    if (keyword == nullptr) return true;
    Rule rule{.keyword = keyword, .name = std::string(name)};
    const bool is_understood = read(id, rule, value);
    nodes_[id].rules.push_back(std::move(rule));
    return is_understood;
  }

  bool read(NodeId id, Rule& rule, const Json& value) {
    const Shape shape = rule.keyword->shape;
    const std::string place = place_of(id, rule.name);
    switch (shape) {
      case Shape::types:
        return read_types(rule, value);
      case Shape::values:
      case Shape::value: {
        const auto single = Json::Array::of(value);
        if (shape == Shape::values && !value.is_array()) return false;
        read_values(rule, shape == Shape::values ? *value.as_array() : single);
        return true;
      }
      case Shape::number:
      case Shape::divisor:
        if (!value.is_number()) return false;
        rule.number = Number(value);
        rule.words = shown(value);
        return shape == Shape::number || rule.number->is_divisor();
      case Shape::count: {
        const auto count = value.is_number() ? Number(value).as_count() : std::nullopt;
        rule.count = count.value_or(0);
        return count.has_value();
      }
      case Shape::flag:
        rule.count = value.as_bool() == true ? 1 : 0;
        return value.is_bool();
      case Shape::pattern:
        return value.is_string() && read_pattern(id, rule, *value.as_string());
      case Shape::schema:
        rule.nodes.push_back(node_of(value, place));
        return true;
      case Shape::schemas:
        if (!value.is_array() || value.as_array()->empty()) {
          return refuse(id, rule.name, "must be a list of schemas");
        }
        for (const Json& each : *value.as_array()) {
          rule.nodes.push_back(node_of(each, fmt::format("{}/{}", place, rule.nodes.size())));
        }
        return true;
      case Shape::members:
      case Shape::patterns:
        if (!value.is_object()) return refuse(id, rule.name, "must be an object of schemas");
        for (const auto& [name, each] : *value.as_object()) {
          rule.members[name] = node_of(each, place + "/" + pointer_part(name));
        }
        if (shape == Shape::members) return true;
        for (const auto& [source, node] : std::exchange(rule.members, {})) {
          read_pattern(id, rule, source);
          rule.nodes.push_back(node);
        }
        return true;
      case Shape::names:
        rule.texts = names_of(id, rule.name, value);
        return true;
      case Shape::dependents:
        if (!value.is_object()) return false;
        for (const auto& [name, names] : *value.as_object()) {
          rule.dependents[name] = names_of(id, rule.name, names);
        }
        return true;
      case Shape::reference:
        if (value.is_string()) references_.push_back({.from = id, .target = *value.as_string()});
        return value.is_string();
    }
    return false;
  }

  // Draft 7: a list is dependentRequired, a schema dependentSchemas.
  bool read_dependencies(NodeId id, const Json& value) {
    if (!value.is_object()) return false;
    Rule names{.keyword = find_keyword("dependentRequired"), .name = "dependencies"};
    Rule nodes{.keyword = find_keyword("dependentSchemas"), .name = "dependencies"};
    for (const auto& [name, rule] : *value.as_object()) {
      if (rule.is_array()) {
        names.dependents[name] = names_of(id, names.name, rule);
      } else {
        nodes.members[name] = node_of(rule, place_of(id, nodes.name) + "/" + pointer_part(name));
      }
    }
    nodes_[id].rules.push_back(std::move(names));
    nodes_[id].rules.push_back(std::move(nodes));
    return true;
  }

  // The root may name itself, and be referred to by that name. Elsewhere it would change what every
  // reference below it means.
  bool read_id(NodeId id, const Json& value) {
    const auto* text = value.as_string();
    if (text == nullptr || (id != 0 && !text->starts_with('#'))) {
      return refuse(id, "$id", "only the root of a schema may have an $id", ErrorCode::unsupported);
    }
    if (id == 0) base_ = text->substr(0, text->find('#'));
    return true;
  }

  bool read_pattern(NodeId id, Rule& rule, const std::string& source) {
    auto pattern = Pattern::compile(source);
    if (pattern) {
      rule.patterns.push_back(*std::move(pattern));
    } else {
      refuse(id, rule.name, pattern.error().message, pattern.error().code);
    }
    return true;
  }
  std::vector<std::string> names_of(NodeId id, std::string_view keyword, const Json& value) {
    std::vector<std::string> names;
    const auto* array = value.as_array();
    const bool are_names = array != nullptr && std::ranges::all_of(*array, &Json::is_string);
    if (!are_names) refuse(id, keyword, "must be a list of names");
    for (const Json& name : are_names ? *array : Json::Array()) names.push_back(*name.as_string());
    return names;
  }

  void resolve(NodeId from, const std::string& target) {
    std::string_view local = target;
    if (!base_.empty() && local.starts_with(base_)) local.remove_prefix(base_.size());
    if (!local.empty() && !local.starts_with('#')) {
      refuse(from, "$ref",
             fmt::format("leads to \"{}\"; only places within this schema are read, such as "
                         "\"#/$defs/name\"",
                         target),
             ErrorCode::unsupported);
      return;
    }
    if (!local.empty()) local.remove_prefix(1);
    std::optional<NodeId> found;
    if (!local.empty() && !local.starts_with('/')) {
      if (const auto anchor = anchors_.find(local); anchor != anchors_.end())
        found = anchor->second;
    } else {
      std::string place;
      if (const Json* schema = find_target(local, place)) found = node_of(*schema, place);
    }
    if (!found) refuse(from, "$ref", fmt::format("there is no {}", target));
    for (Rule& rule : nodes_[from].rules) {
      if (rule.keyword->shape == Shape::reference) rule.nodes = {found.value_or(0)};
    }
  }

  const Json* find_target(std::string_view target, std::string& place) const {
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

  [[nodiscard]] std::string place_of(NodeId id, std::string_view part) const {
    return fmt::format("{}/{}", nodes_[id].place, pointer_part(part));
  }
  // The first refusal counts. True: so much is said.
  bool refuse(NodeId id, std::string_view keyword, const std::string& why,
              ErrorCode code = ErrorCode::invalid_argument) {
    if (error_) return true;
    const std::string place = keyword.empty() ? nodes_[id].place : place_of(id, keyword);
    error_ = Error{
        code, fmt::format("the JSON Schema at {}: {}", place.empty() ? "its root" : place, why),
        place};
    return true;
  }

  const Json& root_;
  std::vector<Node> nodes_{};
  std::map<const Json*, NodeId> known_{};
  std::vector<std::pair<const Json*, NodeId>> pending_{};
  std::vector<Reference> references_{};
  std::map<std::string, NodeId, std::less<>> anchors_{};
  std::string base_{};
  bool ignores_siblings_ = false;  // Of `$ref`: drafts before 2019-09.
  std::optional<Error> error_{};
};

// Each is a few frames of the evaluator, at each depth of a value.
constexpr std::size_t in_place_depth_max = 64;

std::vector<NodeId> in_place_edges(const Node& node) {
  std::vector<NodeId> edges;
  for (const Rule& rule : node.rules) {
    if (!rule.keyword->is_in_place) continue;
    edges.insert(edges.end(), rule.nodes.begin(), rule.nodes.end());
    for (const auto& [name, schema] : rule.members) edges.push_back(schema);
  }
  return edges;
}

// A schema that leads back to itself for the same value would be asked for ever. One that leads
// back for a part of the value ends, because values end.
Result<void> check_ends(const std::vector<Node>& nodes) {
  std::vector<bool> ends(nodes.size(), false);
  const auto next_of = [&](NodeId id) -> std::optional<NodeId> {
    const auto edges = in_place_edges(nodes[id]);
    const auto open = std::ranges::find_if(edges, [&](NodeId edge) { return !ends[edge]; });
    return open == edges.end() ? std::nullopt : std::optional(*open);
  };
  // In each round those end whose edges all did: after n of them, all whose ways are that short.
  for (std::size_t round = 0; round < in_place_depth_max; ++round) {
    std::vector<bool> after = ends;
    for (NodeId id = 0; id < nodes.size(); ++id) after[id] = ends[id] || !next_of(id);
    if (after == ends) break;
    ends = std::move(after);
  }
  const auto open = static_cast<NodeId>(std::ranges::find(ends, false) - ends.begin());
  if (open == nodes.size()) return {};
  // So many steps stay only in a circle.
  NodeId at = open;
  std::size_t steps = 0;
  for (auto next = next_of(at); next && steps <= nodes.size(); next = next_of(at), ++steps) {
    at = *next;
  }
  if (steps > nodes.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the JSON Schema at {} refers to itself without going deeper into the "
                            "value: it would never be done",
                            nodes[at].place.empty() ? "its root" : nodes[at].place));
  }
  return fail(ErrorCode::unsupported,
              fmt::format("the JSON Schema at {} chains more than {} schemas for one value",
                          nodes[open].place, in_place_depth_max));
}

}  // namespace

Result<std::vector<Node>> compile_nodes(const Json& schema) {
  auto nodes = Compiler(schema).run();
  if (!nodes) return nodes;
  if (auto ends = check_ends(*nodes); !ends) return forward(ends);
  return nodes;
}

// Numbers as integers where both are, and as doubles otherwise.

namespace {

// The digits before the point, if those after it are zeros and no exponent follows: exact, where
// the nearest double may be an integer and the number is not.
std::optional<std::string_view> integer_in(std::string_view token) {
  const std::size_t point = std::min(token.find('.'), token.size());
  if (token.find_first_not_of('0', point + 1) < token.size()) return std::nullopt;
  return token.substr(0, point);
}

}  // namespace

Number::Number(const Json& json) {
  const std::string& token = *json.number_token();
  constexpr double endless = std::numeric_limits<double>::infinity();
  value_ = json.as_double().value_or(token.starts_with('-') ? -endless : endless);
  const bool has_exponent = token.find_first_of("eE") != std::string::npos;
  const auto digits = has_exponent ? std::nullopt : integer_in(token);
  is_integer_ = has_exponent ? std::trunc(value_) == value_ : digits.has_value();
  if (digits) whole_ = Json::number(std::string(*digits))->as_int64();
}

std::optional<std::uint64_t> Number::as_count() const {
  if (!is_integer_ || value_ < 0) return std::nullopt;
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  if (value_ >= beyond) return INT64_MAX;
  return static_cast<std::uint64_t>(whole_.value_or(static_cast<std::int64_t>(value_)));
}

bool Number::is_divisor() const { return value_ > 0 && std::isfinite(value_); }

bool Number::is_multiple_of(const Number& divisor) const {
  if (whole_ && divisor.whole_) return *whole_ % *divisor.whole_ == 0;
  constexpr double rounding = 0x1p-51;
  const double quotient = value_ / divisor.value_;
  const double missed = std::abs(quotient - std::round(quotient));
  // This way round, infinity is a multiple too.
  return !(missed > std::abs(quotient) * rounding);
}

std::partial_ordering Number::operator<=>(const Number& other) const {
  if (whole_ && other.whole_) return *whole_ <=> *other.whole_;
  return value_ <=> other.value_;
}

namespace {

void add_value(std::string& text, const Json& value);

void add_object(std::string& text, const Json::Object& object) {
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, member] : object) members[key] = &member;
  text += '{';
  for (const auto& [key, member] : members) {
    text += Json(key).text() + ":";
    add_value(text, *member);
    text += ',';
  }
  text += '}';
}

void add_value(std::string& text, const Json& value) {
  if (const auto* token = value.number_token()) {
    text += canonical_json(value).value_or(*token);
  } else if (const auto* object = value.as_object()) {
    add_object(text, *object);
  } else if (const auto* array = value.as_array()) {
    text += '[';
    for (const Json& element : *array) {
      add_value(text, element);
      text += ',';
    }
    text += ']';
  } else {
    text += value.text();
  }
}

}  // namespace

std::string value_text(const Json& value) {
  std::string text;
  add_value(text, value);
  return text;
}

std::string shown(const Json& value) {
  constexpr std::size_t bytes_max = 80;
  // Cut first: to write a long string out costs as much as it is long.
  if (const auto* string = value.as_string(); string != nullptr && string->size() > bytes_max) {
    return Json(utf8_prefix(*string, bytes_max)).text() + "…";
  }
  std::string text = value.text();
  if (text.size() <= bytes_max) return text;
  return std::string(utf8_prefix(text, bytes_max)) + "…";
}

std::string kind_words(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "the boolean " + value.text();
    case Json::Kind::number:
      return "the number " + shown(value);
    case Json::Kind::string:
      return "the string " + shown(value);
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
  }
  return "nothing";
}

}  // namespace perdure::schema
