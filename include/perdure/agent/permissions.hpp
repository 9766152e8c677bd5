// What an agent may do without asking: by what a tool touches, by its name, by the paths in its
// arguments.
//
//   - deny wins: one rule that says no is enough;
//   - a rule for the tool's name comes before those for what it touches; of several names that fit
//     the strictest counts;
//   - of what a tool touches the strictest counts; a tool that declares nothing is `undeclared`;
//   - a path that is asked about is asked about, whatever allows the tool; one that is allowed
//     spares the question that `read` or `write` would ask, if all paths of the call are;
//   - a rule that asks or denies holds also for what is in a folder that it fits. A path that leads
//     out of its root is denied. Where rules for paths ask or deny, and a call does not say its
//     path, a person is asked.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {

struct PermitRule {
  /// For tools: a name, `*` is any letters ("mcp__files__*"). For paths: `*` and `?` stay within a
  /// part, `**` is any parts ("src/**" is src and all below it). Relative patterns are for names
  /// within the agent's roots, absolute ones for whole paths; a path has both, however it is written.
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

/// The checks before a call: the tool exists, the arguments parse and fit its schema, it is
/// permitted, it is not a loop; in that order. `deny` has a JSON text for the model, `{"error",
/// "tool", "message", …}`; `error` is `unknown_tool`, `arguments_not_json`, `invalid_arguments`,
/// `not_permitted` or `loop`. Pure.
///
/// `in_a_row`: how often this call was asked for without another between, itself included. The third
/// is refused.
[[nodiscard]] PermitDecision check_call(const Toolbox& tools, const Permissions& permissions,
                                        const ToolCallBlock& call, std::size_t in_a_row);

}  // namespace perdure
