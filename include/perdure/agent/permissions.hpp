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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

struct PermitRule {
  /// For tools: a name, `*` stands for any letters ("mcp__files__*"). For paths: `*` and `?` stay
  /// within a part, `**` is any parts ("src/**" is src and all below it). Relative patterns are
  /// for names within the agent's roots, absolute ones for whole paths; a path has both
  /// (tools.hpp), however it was written.
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
/// `path_args` is missing or not a path, a person is asked.
[[nodiscard]] PermitDecision decide_permit(const Permissions& permissions, const Tool& tool,
                                           const PathArgs& path_args, const Json& args);

/// The path without dot segments, doubled and trailing slashes; "." for the root itself.
/// Fails: `invalid_argument` for an empty path, one that leads above its root, a zero byte.
[[nodiscard]] Result<std::string> plain_path(std::string_view path);

/// Whether a pattern of PermitRule fits a plain path.
[[nodiscard]] bool fits_path(std::string_view pattern, std::string_view path);

/// Whether it fits that path or a folder above it. What closes a folder closes what is in it.
[[nodiscard]] bool covers_path(std::string_view pattern, std::string_view path);

// The checks before a call: exists, parses, valid, permitted, not looping; in that order, and
// before anything happens. Pure: the same call with the same history gets the same word.
//
// Each "no" is a JSON text for the model: `{"error", "tool", "message", …}`, where `error` is
// `unknown_tool`, `arguments_not_json`, `invalid_arguments`, `not_permitted` or `loop`.

/// The third of so many is refused.
inline constexpr std::size_t identical_calls_max = 3;

/// A turn ends when the same call was refused so often.
inline constexpr std::size_t refusals_max = 3;

/// It may be made.
struct CallGo {
  Json args{};
};
/// It may be made once a person allows it.
struct CallAsk {
  Json args{};
  std::string why{};
};
struct CallRefused {
  enum class By : std::uint8_t { name, syntax, schema, permission, loop };
  By by = By::name;
  std::string text{};  ///< JSON for the model: what is wrong and what to do.
};
using CallCheck = std::variant<CallGo, CallAsk, CallRefused>;

/// `in_a_row` is how often this call was asked for without another one between, itself included:
/// times_in_a_row().
[[nodiscard]] CallCheck check_call(const Toolbox& tools, const Permissions& permissions,
                                   const ToolCallBlock& call, std::size_t in_a_row);

/// How many calls with the same name and the same arguments, as values, end with block `block` of
/// the message at `message`: from the transcript, so that it is the same after a resume. Counts
/// to identical_calls_max, and from the last word of a user on.
[[nodiscard]] std::size_t times_in_a_row(const State& state, Position message, std::size_t block);
/// The same for a message that is about to be recorded, after all of the state.
[[nodiscard]] std::size_t times_in_a_row(const State& state, const Message& next,
                                         std::size_t block);

/// The call that a model repeats though it is not made, for whatever reason: responses one after the
/// other, of which no call was made, asked for the same one (name and arguments, as values)
/// refusals_max times. Null: there is none. Looks back to `since` and to the last word of a user; a
/// response without calls, or one call that was made, ends it; what was cut off is passed over.
[[nodiscard]] const ToolCallBlock* refused_again_and_again(const State& state, Position since);

}  // namespace perdure
