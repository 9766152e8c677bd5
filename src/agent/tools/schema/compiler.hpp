// From a schema's JSON to its nodes.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "tools/schema/node.hpp"

namespace perdure::schema {

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
