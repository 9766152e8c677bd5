// What an agent of a sweep is asked to do: the words of its scripted model, its tools, and what must
// be true once it is done.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"

namespace perdure::agents {

/// What each response costs, in micros: so many tokens, at a micro each.
inline constexpr std::int64_t response_micros = 100;

/// Where the tools of a task are and work.
struct TaskPlace {
  std::string program{};  ///< The path of world_program.
  std::string socket{};
  std::string steps{};         ///< As to_text(StepsSpec).
  std::string programs{};      ///< A file for the numbers of the programs.
  std::string state_folder{};  ///< As ExecSpec's.
  std::string desk{};          ///< A folder for files.
  std::string gate{};          ///< Of one tool; empty: none.
  std::string gated = "pay";   ///< Which.
  /// No second attempt of a call starts: what that says must not end a call of which the first may
  /// have taken effect.
  bool is_unlucky = false;
};

/// What a task has left when it is done.
struct Ended {
  const State& state;
  const std::vector<Entry>& log;
  std::string desk{};
};

struct Task {
  std::string_view name{};
  std::string_view script{};  ///< For make_scripted.
  std::string_view answer{};
  std::size_t responses = 0;
  std::vector<std::string> ops{};  ///< That the world counts, but for looks.
  std::vector<PermitRule> rules{};
  /// A call that failed may be made again without anybody's word, in a response of its own.
  bool can_ask_again = false;
  /// How far its clocks are ahead of the one that files are dated by.
  Duration ahead{0};
  /// Somebody else says something meanwhile, and gives the word that is asked for (bystander.hpp).
  bool has_bystander = false;
  Result<Toolbox> (*make_tools)(const TaskPlace&) = nullptr;
  /// What is wrong, besides what Trial sees for itself. Null: nothing is asked.
  std::vector<std::string> (*complaints)(const Ended&) = nullptr;
};

/// A tool whose program is world_program.
struct WorldTool {
  std::string name{};
  std::string how{};  ///< As world_program is told.
  bool has_verify = false;
  Repeat repeat = Repeat::each_call;
};
[[nodiscard]] Result<ToolSpec> make_world_tool(const TaskPlace& place, const WorldTool& tool);

/// By its name; the order (order.hpp) for any other.
[[nodiscard]] const Task& task_named(std::string_view name);

}  // namespace perdure::agents
