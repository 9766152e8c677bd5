// The tools of an agent, with what the checks before a call need to know: their schemas, and which
// arguments are paths.
//
// JSON Schema, as far as tools use it, is draft 2020-12, less what needs other documents or what was
// found before: `$ref` leads only within the schema (`#`, `#/$defs/x`, `#anchor`); `$dynamicRef`, `unevaluated…` and a nested
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

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"

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

  /// As check, where `{"secret_ref": NAME}` is a string that must not be seen (secrets.hpp):
  /// it must be allowed to be a string, and nothing else is asked of it.
  [[nodiscard]] std::vector<SchemaError> check_hiding_secrets(const Json& value) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;  ///< Shared by copies; never changed.
};

inline constexpr std::size_t schema_errors_max = 32;

/// A folder that tools work in.
struct FileRoot {
  std::string name{};  ///< Not needed if there is one root only.
  std::string path{};  ///< A whole path. It may be a link: it is the user's.
  bool is_writable = false;
};

// Which arguments of a tool are paths, and what they are relative to: what rules for paths look at.
//
// One file has several names: `secret/a` in a root, `../secret/a` from another folder, its whole
// path. A rule that fits any of them fits the file. Names are compared as text, once `.`, `..` and
// doubled slashes are gone; nothing is looked up, so a link is a name of its own.

struct PathPlace {
  /// What relative paths are relative to: a whole path. Empty: to a root, as those of file tools.
  std::string folder{};
  /// Relative rules are for what is in them; with several, they begin with a root's name.
  std::vector<FileRoot> roots{};
};

struct PathArgs {
  /// JSON pointers to arguments that are paths, or lists of paths ("/path").
  std::vector<std::string> pointers{};
  /// What an argument that is left out means. Without it that is not known, and rules that would not
  /// allow everything ask.
  std::optional<std::string> otherwise{};
  PathPlace place{};
};

/// The roots as rules name them: a single one has no name, and one that is a link counts by its real
/// path as well.
[[nodiscard]] std::vector<FileRoot> named_roots(std::vector<FileRoot> roots);

/// All plain names of a path. One that is in no root counts by its name in `folder`, and by its whole
/// one.
/// Fails: `invalid_argument` as plain_path, and for a relative path that leads out of the roots and
/// of the folder.
[[nodiscard]] Result<std::vector<std::string>> path_names(const std::string& path,
                                                          const PathPlace& place);

/// A tool as it is given to an agent.
struct ToolSpec {
  Tool tool{};
  PathArgs path_args{};  ///< What rules for paths look at.
  /// The secrets that its arguments may name (secrets.hpp).
  std::vector<std::string> secrets{};
  /// Asking it the same again is what it is for: it waits, or watches something.
  bool is_poll = false;
  /// A person's answer is part of it, whatever permissions say: it asks a question.
  bool needs_word = false;
};

/// A tool with its schema compiled.
struct CheckedTool {
  ToolSpec spec{};
  JsonSchema schema;
};

class Toolbox {
 public:
  /// Fails: `invalid_argument` or `unsupported`, as Tools::of and JsonSchema::compile, with the
  /// tool's name; a schema must be one for objects.
  [[nodiscard]] static Result<Toolbox> of(std::vector<ToolSpec> specs);

  [[nodiscard]] const CheckedTool* find(std::string_view name) const;
  /// Sorted.
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// For the runtime.
  [[nodiscard]] const Tools& tools() const { return tools_; }
  /// For the model, in the order they were given.
  [[nodiscard]] const std::vector<ToolDefinition>& definitions() const { return definitions_; }

 private:
  std::map<std::string, CheckedTool, std::less<>> by_name_;
  Tools tools_;
  std::vector<ToolDefinition> definitions_;
};

}  // namespace perdure
