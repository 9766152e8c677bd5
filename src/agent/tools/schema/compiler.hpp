// A compiled schema: nodes that name each other by number, so that a `$ref` is an edge like any
// other and a schema that refers to itself is a cycle in a list, not in memory. A node has one rule
// for each keyword of its schema.

#pragma once

#include <compare>
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

namespace perdure::schema {

/// A JSON number as a schema compares it: exact as an integer of 64 bits with a sign, and as the
/// nearest double where it is written with a fraction or an exponent, or is larger.
class Number {
 public:
  /// `json` must be a number. Beyond every double it is infinite.
  explicit Number(const Json& json);

  /// 1, 1.0 and 1e2 are.
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  /// Nothing if it is not an integer from 0 on; INT64_MAX for any beyond.
  [[nodiscard]] std::optional<std::uint64_t> as_count() const;

  /// Whether `divisor` can be one for is_multiple_of: above zero and finite.
  [[nodiscard]] bool is_divisor() const;
  /// Exact for two integers. Otherwise the quotient may miss an integer by the rounding of the
  /// doubles, 2^-51 of itself: 0.3 is a multiple of 0.1. From 2^50 on it misses none.
  [[nodiscard]] bool is_multiple_of(const Number& divisor) const;

  [[nodiscard]] std::partial_ordering operator<=>(const Number& other) const;

 private:
  std::optional<std::int64_t> whole_{};
  bool is_integer_ = false;
  double value_ = 0;
};

// One text for all JSON that is equal as JSON Schema sees it: 1 is 1.0, the order of members
// does not count, the last of two members of one name does. Integers keep all their digits; what
// has a fraction or an exponent is the nearest double.

[[nodiscard]] std::string value_text(const Json& value);

/// As a person is shown it, cut if it is long.
[[nodiscard]] std::string shown(const Json& value);

/// "a string", "an integer" …
[[nodiscard]] std::string kind_words(const Json& value);

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
