// The tools of an agent, with what the checks before a call need to know.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/json_schema.hpp"
#include "perdure/agent/path_args.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// A tool as it is given to an agent.
struct ToolSpec {
  Tool tool{};
  PathArgs path_args{};  ///< What rules for paths look at.
  /// The secrets that its arguments may name (secrets.hpp).
  std::vector<std::string> secrets{};
  /// Asking it the same again is what it is for: it waits, or watches something.
  bool is_poll = false;
  /// Somebody's word is part of it, whatever permissions say: it asks a question.
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
