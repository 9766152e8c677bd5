// A compiled schema: nodes that name each other by number, so that a `$ref` is an edge like any
// other and a schema that refers to itself is a cycle in a list, not in memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/schema/number.hpp"
#include "tools/schema/pattern.hpp"

namespace perdure::schema {

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

struct Range {
  std::uint64_t min = 0;
  std::optional<std::uint64_t> max{};
};

struct Bound {
  Number number;
  std::string words{};  ///< As the schema has it.
};

struct NumberRules {
  std::optional<Bound> minimum{};
  std::optional<Bound> maximum{};
  std::optional<Bound> exclusive_minimum{};
  std::optional<Bound> exclusive_maximum{};
  std::optional<Bound> multiple_of{};
};

struct ArrayRules {
  Range size{};
  bool are_unique = false;
  std::vector<NodeId> prefix{};
  std::optional<NodeId> items{};  ///< What follows the prefix.
  std::optional<NodeId> contains{};
  Range contained{.min = 1};
};

struct ObjectRules {
  Range size{};
  std::vector<std::string> required{};
  std::map<std::string, NodeId, std::less<>> properties{};
  std::vector<std::pair<Pattern, NodeId>> patterns{};
  std::optional<NodeId> additional{};
  std::optional<NodeId> names{};
  std::map<std::string, std::vector<std::string>> dependent_required{};
};

/// Values that are allowed: `enum`, or the one of `const`.
struct Allowed {
  std::vector<std::string> texts{};  ///< Of value_text.
  std::string words{};
};

struct Node {
  std::string place{};    ///< JSON pointer into the schema.
  bool is_never = false;  ///< `false`.
  std::optional<std::uint8_t> types{};
  std::optional<Allowed> one_of_values{};
  std::optional<Allowed> constant{};
  NumberRules number{};
  Range length{};
  std::optional<Pattern> pattern{};
  ArrayRules array{};
  ObjectRules object{};
  bool has_array_rules = false;
  bool has_object_rules = false;

  // Rules for the same value.
  std::optional<NodeId> reference{};
  std::vector<NodeId> all_of{};
  std::vector<NodeId> any_of{};
  std::vector<NodeId> one_of{};
  std::optional<NodeId> negated{};
  std::optional<NodeId> condition{};
  std::optional<NodeId> then{};
  std::optional<NodeId> otherwise{};
  std::map<std::string, NodeId> dependent{};
};

}  // namespace perdure::schema
