// One value held against a compiled schema.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/json_schema.hpp"
#include "perdure/core/json.hpp"
#include "tools/schema/node.hpp"
#include "tools/schema/pattern.hpp"

namespace perdure::schema {

/// A place in the value, as a chain on the stack: written out only when something is wrong there.
struct Place {
  const Place* parent = nullptr;
  std::string_view name{};
  std::size_t index = 0;
  bool is_index = false;
};

[[nodiscard]] std::string pointer_of(const Place& place);

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

}  // namespace perdure::schema
