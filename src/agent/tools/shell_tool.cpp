// Commands, each a program of its own; and whether there can be a sandbox for them.

#include "perdure/agent/shell_tool.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perdure/agent/file_root.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "tools/process/environment_of.hpp"
#include "tools/process/leftovers.hpp"
#include "tools/process/program.hpp"
#include "tools/sandbox.hpp"
#include "tools/stand_ins.hpp"

namespace perdure {
namespace {

constexpr std::string_view shell_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["command"], "properties": {
    "command": {"type": "string", "minLength": 1, "description": "For /bin/sh."}}})";

class ShellTool {
 public:
  explicit ShellTool(ShellSpec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] ToolOutcome run(const CallContext& context) const {
    if (const auto why = refusal(); !why.empty()) return Failed{why};
    const Json* command = context.args.find("command");
    if (command == nullptr || !command->is_string()) return Failed{"there is no command"};
    const std::vector<std::string> line = {"/bin/sh", "-c", *command->as_string()};
    const std::string name = name_of(context.session, context.call);
    if (spec_.sandbox == Sandbox::none) return outcome_of(program_of(line, name), context);
    const auto stand_ins = StandIns::put(spec_);
    if (!stand_ins) return Failed{"The command was not run: " + stand_ins.error().message};
    return outcome_of(program_of(line, name, stand_ins->places()), context);
  }

  [[nodiscard]] Result<void> end_leftovers(const LeftoverContext& context) const {
    const std::string mark = mark_of(spec_.programs_folder, name_of(context.session, context.call));
    return Leftovers(spec_.programs_folder, mark).end();
  }

 private:
  static std::string name_of(const SessionId& session, Position call) {
    return fmt::format("{}#{}", session.text(), call);
  }

  // Whether there can be a sandbox is found out with a command that does nothing; once, unless that
  // came to no end of its own.
  [[nodiscard]] std::string refusal() const {
    if (spec_.sandbox == Sandbox::none) return {};
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    const auto found = find_program(spec_.bubblewrap);
    if (!found) return *(refusal_ = no_sandbox(found.error().message));
    const auto end = run_program(program_of({"/bin/true"}, trial_name()), {});
    const bool has_exited = end && end->how == ProgramEnd::How::exited;
    if (has_exited) return *(refusal_ = end->code == 0 ? "" : no_sandbox(end->errors));
    return fmt::format(
        "Commands are run in a sandbox only, and whether there can be one could not be found out: "
        "{}. Nothing was run; it may be called again.",
        end ? "the trial was ended by somebody" : end.error().message);
  }
  static std::string no_sandbox(const std::string& why) {
    return fmt::format(
        "Commands are run in a sandbox only, and there can be none here: {}. Nothing was run. "
        "Whoever set this agent up can install bubblewrap, allow user namespaces, or write "
        "`sandbox: none`.",
        why);
  }
  // No other trial's: whoever ends ends all of its name.
  [[nodiscard]] std::string trial_name() const {
    const auto self = find_process(::getpid()).value_or(ProcessName{});
    return fmt::format("try {} {} {} {}", self.pid, self.started, self.kernel, fmt::ptr(this));
  }

  [[nodiscard]] ProgramSpec program_of(std::vector<std::string> command, const std::string& call,
                                       const std::vector<std::string>& hidden = {}) const {
    ShellSpec spec = spec_;
    spec.hidden.insert(spec.hidden.end(), hidden.begin(), hidden.end());
    ProgramSpec program{
        .argv = spec_.sandbox == Sandbox::none
                    ? std::move(command)
                    : sandboxed(spec, find_program(spec_.bubblewrap).value_or(spec_.bubblewrap),
                                command),
        .folder = spec_.roots.front().path,
        .output_bytes_max = spec_.output_bytes_max,
        .errors_bytes_max = spec_.output_bytes_max,
        .grace = spec_.grace,
        .state_folder = spec_.programs_folder,
        .mark = mark_of(spec_.programs_folder, call)};
    auto own = spec_.environment;
    own.try_emplace("HOME", program.folder);
    program.environment = environment_of(program.mark, std::move(own));
    return program;
  }

  static ToolOutcome outcome_of(ProgramSpec program, const CallContext& context) {
    program.progress = context.progress;
    const auto end = run_program(program, context.stop);
    if (end) return outcome_of(*end);
    if (end.error().subject == "running") return Doubtful{end.error().message};
    return Failed{"The command was not run: " + end.error().message};
  }

  static ToolOutcome outcome_of(const ProgramEnd& end) {
    std::string text = end.output;
    if (!end.errors.empty()) text += (text.empty() ? "[stderr]\n" : "\n[stderr]\n") + end.errors;
    switch (end.how) {
      case ProgramEnd::How::exited:
        if (end.code != 0) text = fmt::format("exit code {}\n{}", end.code, text);
        return Succeeded{.content = std::move(text), .is_error = end.code != 0};
      case ProgramEnd::How::killed:
        return Doubtful{fmt::format("the command was killed by signal {}", end.code)};
      case ProgramEnd::How::stopped:
        return Doubtful{"the command was ended before it was done"};
      case ProgramEnd::How::unknown:
        return Doubtful{"nobody knows how the command ended"};
    }
    return Doubtful{};
  }

  ShellSpec spec_;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> refusal_;
};

std::string problem_of(const ShellSpec& spec) {
  if (spec.roots.empty()) return "needs a root";
  for (const FileRoot& root : spec.roots) {
    if (!root.path.starts_with('/')) return "its roots must be whole paths, not " + root.path;
  }
  for (const auto* paths : {&spec.hidden, &spec.read_only}) {
    for (const std::string& path : *paths) {
      if (!path.starts_with('/')) return "what it hides must be whole paths, not " + path;
    }
  }
  if (!spec.state_folder.starts_with('/')) return "its state folder must be a whole path";
  return {};
}

}  // namespace

Result<ToolSpec> make_shell_tool(ShellSpec spec) {
  if (const auto problem = problem_of(spec); !problem.empty()) {
    return fail(ErrorCode::invalid_argument, fmt::format("tool {}: {}", spec.name, problem),
                spec.name);
  }
  if (spec.programs_folder.empty()) spec.programs_folder = spec.state_folder;
  spec.hidden.push_back(spec.state_folder);
  spec.hidden.push_back(spec.programs_folder);
  for (FileRoot& root : spec.roots) {
    std::error_code error;  // A root that is not there is missed by the first command.
    if (auto real = std::filesystem::canonical(root.path, error); !error) root.path = real.string();
  }
  Tool tool{
      .name = spec.name,
      .description = fmt::format("Runs a command of /bin/sh in {}{}.", spec.roots.front().path,
                                 spec.has_network ? "" : "; there is no network"),
      .input_schema = std::string(shell_schema),
      .side_effects =
          SideEffects{
              .read = true, .write = true, .network = spec.has_network, .mutate = spec.has_network},
      .timeout = spec.timeout};
  // Shared by the copies that attempts make of a tool.
  const auto shell = std::make_shared<const ShellTool>(std::move(spec));
  tool.run = [shell](const CallContext& context) { return shell->run(context); };
  tool.end_leftovers = [shell](const LeftoverContext& context) {
    return shell->end_leftovers(context);
  };
  return ToolSpec{.tool = std::move(tool)};
}

}  // namespace perdure
