// JSON Schema, as far as tools use it: what a model's arguments must look like.
//
// Draft 2020-12, less what needs other documents or what was found before: `$ref` leads only
// within the schema (`#`, `#/$defs/x`, `#anchor`); `$dynamicRef`, `unevaluated…` and a nested
// `$id` are refused. `format` is an annotation, as the draft has it. Two spellings of draft 7 are
// read as what they mean: `items` with a list (a tuple, with `additionalItems`), and
// `dependencies`.
//
// Integers of 64 bits are compared exactly, other numbers as doubles; lengths count code points.
// `pattern` is a regular expression of PCRE2, matched within limits.
//
// No schema and no value can make it run for ever or exhaust the stack: what takes too much work
// is invalid, and says so.

#pragma once

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

/// A compiled schema. A value type; any number of threads may use one.
class JsonSchema {
 public:
  /// Fails: `invalid_argument` for what is no schema, or one that refers to itself without an end;
  /// `unsupported` for keywords that would change the answer and are not known here. The message
  /// says where and what to write instead.
  [[nodiscard]] static Result<JsonSchema> compile(const Json& schema);

  /// All that is wrong, at most schema_errors_max; empty: valid.
  [[nodiscard]] std::vector<SchemaError> check(const Json& value) const;

  /// As check, where `{"secret_ref": NAME}` stands for a string that nobody may see (secrets.hpp):
  /// it must be allowed to be a string, and nothing else is asked of it.
  [[nodiscard]] std::vector<SchemaError> check_hiding_secrets(const Json& value) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;  ///< Shared by copies; never changed.
};

inline constexpr std::size_t schema_errors_max = 32;

}  // namespace perdure
