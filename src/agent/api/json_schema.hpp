// JSON Schema, as far as tools use it: the schema of a tool's arguments and of an agent file.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// One thing that is wrong with a value, in words that its author can act on.
struct SchemaError {
  std::string at{};       ///< JSON pointer into the value; empty: the value itself.
  std::string rule{};     ///< JSON pointer into the schema: "/properties/path/type".
  std::string message{};  ///< "must be an integer, not the string \"5\"".
  bool operator==(const SchemaError&) const = default;
};

inline constexpr std::size_t schema_errors_max = 32;

/// A compiled JSON Schema: draft 2020-12, as far as tools use it (docs/tools.md). What takes too
/// much work to check is invalid, and says so. A value; any number of threads may use one.
class JsonSchema {
 public:
  /// Fails: `invalid_argument` for what is not a schema, or one that refers to itself endlessly;
  /// `unsupported` for keywords that would change the answer and are not known here. The message
  /// says where and what to write instead.
  [[nodiscard]] static Result<JsonSchema> compile(const Json& schema);

  /// All that is wrong, at most schema_errors_max; empty: valid. `hides_secrets`: of
  /// `{"secret_ref": NAME}` it is asked only that it may be a string (see with_secrets).
  [[nodiscard]] std::vector<SchemaError> check(const Json& value, bool hides_secrets = false) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;  ///< Shared by copies; never changed.
};

}  // namespace perdure
