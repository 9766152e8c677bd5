// The order of bubblewrap's arguments is the order of its mounts: first all of the machine,
// read-only, then what is replaced, then the roots (which may lie in what was replaced), then what
// is hidden.

#include "perdure/agent/shell_tool.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/agent/file_tools.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/entry.hpp"
#include "tools/process/leftovers.hpp"
#include "tools/process/program.hpp"

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
    const ProgramSpec program = program_of({"/bin/sh", "-c", *command->as_string()},
                                           name_of(context.session, context.call));
    const auto end = run_program(program, context.stop);
    if (end) return outcome_of(*end);
    if (end.error().subject == "running") return Doubtful{end.error().message};
    return Failed{"The command was not run: " + end.error().message};
  }

  [[nodiscard]] Result<void> end_leftovers(const LeftoverContext& context) const {
    const std::string mark = mark_of(spec_.state_folder, name_of(context.session, context.call));
    return Leftovers(spec_.state_folder, mark).end();
  }

 private:
  static std::string name_of(const SessionId& session, Position call) {
    return fmt::format("{}#{}", session.text(), call);
  }

  // Whether there can be a sandbox is found out once, with a command that does nothing.
  [[nodiscard]] std::string refusal() const {
    if (spec_.sandbox == Sandbox::none) return {};
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = tried();
    return *refusal_;
  }
  [[nodiscard]] std::string tried() const {
    const auto found = find_program(spec_.bubblewrap);
    std::string why = found ? "" : found.error().message;
    if (found) {
      const auto end = run_program(program_of({"/bin/true"}, "try " + spec_.name), {});
      const bool works = end && end->how == ProgramEnd::How::exited && end->code == 0;
      if (works) return {};
      why = end ? end->errors : end.error().message;
    }
    return fmt::format(
        "Commands are run in a sandbox only, and there can be none here: {}. Nothing was run. "
        "Whoever "
        "set this agent up can install bubblewrap, allow user namespaces, or write `sandbox: "
        "none`.",
        why);
  }

  [[nodiscard]] std::vector<std::string> sandboxed(const std::vector<std::string>& command) const {
    std::vector<std::string> argv = {find_program(spec_.bubblewrap).value_or(spec_.bubblewrap),
                                     "--die-with-parent",
                                     "--new-session",
                                     "--unshare-pid",
                                     "--unshare-ipc",
                                     "--unshare-uts",
                                     "--unshare-cgroup-try",
                                     "--cap-drop",
                                     "ALL",
                                     "--ro-bind",
                                     "/",
                                     "/",
                                     "--proc",
                                     "/proc",
                                     "--dev",
                                     "/dev",
                                     "--tmpfs",
                                     "/tmp",
                                     "--tmpfs",
                                     "/run"};
    if (!spec_.has_network) argv.emplace_back("--unshare-net");
    for (const FileRoot& root : spec_.roots) {
      argv.insert(argv.end(), {root.is_writable ? "--bind" : "--ro-bind", root.path, root.path});
    }
    for (const std::string& path : spec_.hidden) {
      std::error_code ignored;
      if (std::filesystem::is_directory(path, ignored)) {
        argv.insert(argv.end(), {"--tmpfs", path, "--remount-ro", path});
      } else if (std::filesystem::exists(path, ignored)) {
        argv.insert(argv.end(), {"--ro-bind", "/dev/null", path});
      }
    }
    argv.insert(argv.end(), {"--chdir", spec_.roots.front().path, "--"});
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
  }

  [[nodiscard]] ProgramSpec program_of(std::vector<std::string> command,
                                       const std::string& call) const {
    ProgramSpec program{
        .argv = spec_.sandbox == Sandbox::none ? std::move(command) : sandboxed(command),
        .folder = spec_.roots.front().path,
        .output_bytes_max = spec_.output_bytes_max,
        .errors_bytes_max = spec_.output_bytes_max,
        .grace = spec_.grace,
        .state_folder = spec_.state_folder,
        .mark = mark_of(spec_.state_folder, call)};
    const auto add = [&](std::string_view name, const std::string& value) {
      program.environment.push_back(fmt::format("{}={}", name, value));
    };
    add(mark_variable, program.mark);
    for (const auto& [name, value] : spec_.environment) add(name, value);
    if (!spec_.environment.contains("PATH")) add("PATH", "/usr/local/bin:/usr/bin:/bin");
    if (!spec_.environment.contains("LANG")) add("LANG", "C.UTF-8");
    if (!spec_.environment.contains("HOME")) add("HOME", spec_.roots.front().path);
    return program;
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
  for (const std::string& path : spec.hidden) {
    if (!path.starts_with('/')) return "what it hides must be whole paths, not " + path;
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
  spec.hidden.push_back(spec.state_folder);
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
