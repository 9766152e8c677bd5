// A compiled schema: nodes that name each other by number, so that a `$ref` is an edge like any
// other and a schema that refers to itself is a cycle in a list, not in memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"
#include "tools/schema/value.hpp"

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

// From a schema's JSON to its nodes.

/// Compiles one schema. Works through a list and never by recursion: neither a deep schema nor a
/// long chain of references can exhaust the stack.
class Compiler {
 public:
  explicit Compiler(const Json& root) : root_(root) {}

  /// The first node is the root. Fails: as JsonSchema::compile.
  [[nodiscard]] Result<std::vector<Node>> run();

 private:
  struct Pending {
    const Json* schema;
    NodeId id;
  };
  struct Reference {
    NodeId from;
    std::string target;
  };

  /// The node of a schema that is part of the root; compiled later, if it was not met before.
  NodeId node_of(const Json& schema, const std::string& place);
  void compile_next();
  void compile_object(const Json& schema, NodeId id);
  void compile_keyword(NodeId id, const std::string& keyword, const Json& value);
  void resolve();
  [[nodiscard]] const Json* find_target(std::string_view target, std::string& place) const;

  bool set_type(Node& node, const Json& value);
  bool set_values(Node& node, const std::string& keyword, const Json& value);
  bool set_number(Node& node, const std::string& keyword, const Json& value);
  bool set_count(Node& node, const std::string& keyword, const Json& value);
  bool set_pattern(Node& node, const Json& value);
  bool set_array(NodeId id, const std::string& keyword, const Json& value);
  bool set_object(NodeId id, const std::string& keyword, const Json& value);
  bool set_in_place(NodeId id, const std::string& keyword, const Json& value);
  bool set_dependencies(NodeId id, const Json& value);
  void set_id(NodeId id, const Json& value);

  std::vector<NodeId> nodes_of(NodeId id, const std::string& keyword, const Json& value);
  std::map<std::string, NodeId, std::less<>> members_of(NodeId id, const std::string& keyword,
                                                        const Json& value);
  std::vector<std::string> names_of(NodeId id, const std::string& keyword, const Json& value);
  void refuse(NodeId id, const std::string& keyword, ErrorCode code, const std::string& why);

  const Json& root_;
  std::vector<Node> nodes_;
  std::map<const Json*, NodeId> known_;
  std::vector<Pending> pending_;
  std::vector<Reference> references_;
  std::map<std::string, NodeId, std::less<>> anchors_;
  std::string base_{};
  bool ignores_siblings_ = false;  ///< Of `$ref`: drafts before 2019-09.
  std::optional<Error> error_{};
};

/// Whether some node leads back to itself for the same value, or by too long a way.
/// Fails: `invalid_argument`, `unsupported`.
[[nodiscard]] Result<void> check_ends(const std::vector<Node>& nodes);

}  // namespace perdure::schema
