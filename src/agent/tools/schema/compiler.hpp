// A compiled schema: nodes that name each other by number, so that a `$ref` is an edge like any
// other and a schema that refers to itself is a cycle in a list, not in memory. A node has one rule
// for each keyword of its schema.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"
#include "tools/schema/value.hpp"

namespace perdure::schema {

class Evaluator;
struct At;
struct Rule;

using NodeId = std::size_t;

/// Bits of `type`.
enum TypeBit : std::uint8_t {
  type_null = 1,
  type_boolean = 2,
  type_integer = 4,
  type_number = 8,
  type_string = 16,
  type_array = 32,
  type_object = 64,
};

/// What the value of a keyword must be, and where a Rule keeps it.
enum class Shape : std::uint8_t {
  types,       ///< The name of a type, or several: `count`, as bits.
  values,      ///< A list: `texts`, sorted, as value_text has them; and `words`.
  value,       ///< Anything: as a list of one.
  number,      ///< `number`, and `words`.
  divisor,     ///< A number above zero: the same.
  count,       ///< `count`.
  flag,        ///< `count`: 1 for true.
  pattern,     ///< `patterns`.
  schema,      ///< `nodes`: one.
  schemas,     ///< A list: `nodes`.
  members,     ///< An object of schemas: `members`.
  patterns,    ///< The same, by patterns: `patterns`, and as many `nodes`.
  names,       ///< A list: `texts`.
  dependents,  ///< An object of such lists: `dependents`.
  reference,   ///< `nodes`: the one that it leads to.
};

struct Keyword {
  std::string_view name{};
  Shape shape = Shape::schema;
  /// What it asks of a value. Null: nothing by itself, another keyword looks at it.
  void (Evaluator::*check)(const At&, const Rule&) = nullptr;
  bool is_in_place = false;  ///< Its schemas are for the very same value.
};

/// All that are known, in the order in which they are checked.
[[nodiscard]] std::span<const Keyword> keywords();

/// One keyword of a schema, with its value.
struct Rule {
  const Keyword* keyword = nullptr;
  std::string name{};  ///< As the schema writes it: older drafts have other names.
  std::uint64_t count = 0;
  std::optional<Number> number{};
  std::string words{};  ///< For people.
  std::vector<std::string> texts{};
  std::vector<Pattern> patterns{};
  std::vector<NodeId> nodes{};
  std::map<std::string, NodeId, std::less<>> members{};
  std::map<std::string, std::vector<std::string>> dependents{};
};

struct Node {
  std::string place{};        ///< JSON pointer into the schema.
  bool is_never = false;      ///< `false`.
  std::vector<Rule> rules{};  ///< In the order of keywords().

  /// Null: the schema does not have it.
  [[nodiscard]] const Rule* find(std::string_view keyword) const {
    for (const Rule& rule : rules) {
      if (rule.keyword->name == keyword) return &rule;
    }
    return nullptr;
  }
};

/// The nodes of a schema, its root first. Fails: as JsonSchema::compile.
[[nodiscard]] Result<std::vector<Node>> compile_nodes(const Json& schema);

}  // namespace perdure::schema
