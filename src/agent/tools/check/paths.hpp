// What the checks of tools share. Paths as text: their plain form, the patterns that fit them, all their
// names; and a tool of a toolbox with its schema compiled.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// The path without dot segments, doubled and trailing slashes; "." for the root itself.
/// Fails: `invalid_argument` for an empty path, one that leads above its root, a zero byte.
[[nodiscard]] Result<std::string> plain_path(std::string_view path);

/// Whether a pattern of PermitRule fits a plain path.
[[nodiscard]] bool fits_path(std::string_view pattern, std::string_view path);

/// Whether it fits that path or a folder above it. What closes a folder closes what is in it.
[[nodiscard]] bool covers_path(std::string_view pattern, std::string_view path);

/// The roots as rules name them: a single one has no name, and one that is a link counts by its
/// real path as well.
[[nodiscard]] std::vector<FileRoot> named_roots(std::vector<FileRoot> roots);

/// All plain names of a path. One that is in no root counts by its name in `folder`, and by its
/// whole one.
/// Fails: `invalid_argument` as plain_path, and for a relative path that leads out of the roots and
/// of the folder.
[[nodiscard]] Result<std::vector<std::string>> path_names(const std::string& path,
                                                          const PathArgs& place);

/// By the rules of tools.hpp.
[[nodiscard]] PermitDecision decide_permit(const Permissions& permissions, const Tool& tool,
                                           const PathArgs& path_args, const Json& args);

struct CheckedTool {
  ToolSpec spec{};
  JsonSchema schema;
};

}  // namespace perdure
