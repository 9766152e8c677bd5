// What an agent may do without asking: by what a tool touches, by its name, by the paths in its
// arguments. Pure: rules and a call in, a word out.
//
// The rules:
//   - deny wins: whatever says no, says no for all;
//   - a rule for the tool's name comes before those for what it touches; of several names that fit
//     the strictest counts;
//   - of what a tool touches the strictest counts; a tool that declares nothing is `undeclared`;
//   - a path that is asked about is asked about, whatever allows the tool; one that is allowed spares
//     the question that `read` or `write` would ask, if all paths of the call are.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/path_args.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/call_records.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

struct PermitRule {
  /// For tools: a name, `*` stands for any letters ("mcp__files__*"). For paths: `*` and `?` stay
  /// within a part, `**` is any parts ("src/**" is src and all below it). Relative patterns are
  /// for names within the agent's roots, absolute ones for whole paths; a path has both
  /// (path_args.hpp), however it was written.
  std::string pattern{};
  Permit permit = Permit::ask;
};

struct Permissions {
  Permit read = Permit::allow;
  Permit write = Permit::ask;
  Permit network = Permit::ask;
  Permit mutate = Permit::ask;
  Permit undeclared = Permit::ask;
  std::vector<PermitRule> tools{};
  std::vector<PermitRule> paths{};
};

/// A rule that asks or denies holds also for what is in a folder that it fits. A path that leads out
/// of its root is denied. Where there are rules for paths that do not allow, and an argument of
/// `path_args` is not there or is no path, somebody is asked.
[[nodiscard]] PermitDecision decide_permit(const Permissions& permissions, const Tool& tool,
                                           const PathArgs& path_args, const Json& args);

/// The path without `.`, `..`, doubled and trailing slashes; "." for the root itself.
/// Fails: `invalid_argument` for an empty path, one that leads above its root, a zero byte.
[[nodiscard]] Result<std::string> plain_path(std::string_view path);

/// Whether a pattern of PermitRule fits a plain path.
[[nodiscard]] bool fits_path(std::string_view pattern, std::string_view path);

/// Whether it fits that path or a folder above it. What closes a folder closes what is in it.
[[nodiscard]] bool covers_path(std::string_view pattern, std::string_view path);

}  // namespace perdure
