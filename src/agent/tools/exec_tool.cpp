// What a program's end means for the call.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "text/text_cut.hpp"
#include "tools/process/leftovers.hpp"
#include "tools/process/program.hpp"

namespace perdure {
namespace {

constexpr int nothing_happened = 75;  // In this run.
constexpr int never_happens = 76;     // In no run.

std::string with_errors(std::string text, const std::string& errors) {
  if (errors.empty()) return text;
  return text + (text.empty() ? "" : "\n") + "[stderr]\n" + errors;
}

std::string reason_of(const ProgramEnd& end) {
  constexpr std::size_t words_max = 1000;
  const std::string words(utf8_prefix(end.errors, words_max));
  const std::string colon = words.empty() ? "" : ": " + words;
  switch (end.how) {
    case ProgramEnd::How::exited:
      return fmt::format("the program ended with code {}{}", end.code, colon);
    case ProgramEnd::How::killed:
      return fmt::format("the program was killed by signal {}{}", end.code, colon);
    case ProgramEnd::How::stopped:
      return "the program was ended before it was done" + colon;
    case ProgramEnd::How::unknown:
      return "nobody knows how the program ended" + colon;
  }
  return {};
}

bool is_among(const std::vector<int>& codes, int code) {
  return std::ranges::find(codes, code) != codes.end();
}

class ExecTool {
 public:
  explicit ExecTool(ExecSpec spec)
      : spec_(std::move(spec)),
        only_reads_(effect_class_of(spec_.spec.tool) == EffectClass::read_only) {}

  [[nodiscard]] ToolOutcome run(const CallContext& context) const {
    ProgramSpec program = program_of(spec_.command, context.args,
                                     mark_for(context.key, context.session, context.call));
    add(program, "PERDURE_SESSION", context.session.text());
    add(program, "PERDURE_CALL", std::to_string(context.call));
    add(program, "PERDURE_ATTEMPT", std::to_string(context.attempt));
    add(program, "PERDURE_FENCE", std::to_string(context.fence));
    if (!context.key.empty()) add(program, "PERDURE_KEY", context.key);
    program.progress = context.progress;
    const auto end = run_program(program, context.stop);
    if (end) return outcome_of(*end);
    if (end.error().subject == "running") return Doubtful{end.error().message};
    return Failed{"The program did not start: " + end.error().message};
  }

  [[nodiscard]] Verdict verify(const VerifyContext& context) const {
    const std::string mark = mark_for(context.key, {}, 0) + "v";
    ProgramSpec program = program_of(spec_.verify, context.args, mark);
    add(program, "PERDURE_KEY", context.key);
    add(program, "PERDURE_ATTEMPT", std::to_string(context.attempt));
    add(program, "PERDURE_DISPATCHED_AT", to_iso8601(context.dispatched_at));
    const auto end = run_program(program, context.stop);
    if (!end) return CannotTell{end.error().message};
    const bool has_exited = end->how == ProgramEnd::How::exited;
    if (has_exited && end->code == 0) return Landed{.content = end->output};
    if (has_exited && end->code == nothing_happened) return NotLanded{};
    return CannotTell{"verify: " + reason_of(*end)};
  }

  [[nodiscard]] Result<void> end_leftovers(const LeftoverContext& context) const {
    const std::string mark = mark_for(context.key, context.session, context.call);
    return Leftovers(spec_.state_folder, mark).end();
  }

 private:
  // The vendor's key has a generation after the key itself: all attempts of a call have one mark.
  [[nodiscard]] std::string mark_for(const std::string& key, const SessionId& session,
                                     Position call) const {
    return mark_of(spec_.state_folder, key.empty() ? fmt::format("{}#{}", session.text(), call)
                                                   : key.substr(0, key.find('-')));
  }
  static void add(ProgramSpec& program, std::string_view name, const std::string& value) {
    program.environment.push_back(fmt::format("{}={}", name, value));
  }

  [[nodiscard]] ProgramSpec program_of(const std::vector<std::string>& command, const Json& args,
                                       std::string mark) const {
    ProgramSpec program{.argv = command,
                        .folder = spec_.folder,
                        .input = args.text(),
                        .output_bytes_max = spec_.output_bytes_max,
                        .errors_bytes_max = spec_.errors_bytes_max,
                        .grace = spec_.grace,
                        .state_folder = spec_.state_folder,
                        .mark = std::move(mark)};
    program.environment = environment_of(program.mark, spec_.environment);
    return program;
  }

  [[nodiscard]] ToolOutcome outcome_of(const ProgramEnd& end) const {
    const bool has_exited = end.how == ProgramEnd::How::exited;
    if (has_exited && end.code == 0) return Succeeded{.content = end.output};
    if (has_exited && end.code == never_happens) {
      return Never{with_errors(end.output, end.errors)};
    }
    if (has_exited && (end.code == nothing_happened || is_among(spec_.nothing_codes, end.code))) {
      return Failed{with_errors(end.output, end.errors)};
    }
    const bool is_answer = only_reads_ || is_among(spec_.error_codes, end.code);
    if (has_exited && is_answer) {
      return Succeeded{
          .content = with_errors(fmt::format("exit code {}\n{}", end.code, end.output), end.errors),
          .is_error = true};
    }
    return Doubtful{reason_of(end)};
  }

  ExecSpec spec_;
  bool only_reads_;
};

std::string problem_of(const ExecSpec& spec) {
  if (spec.command.empty()) return "its command is empty";
  if (!spec.state_folder.starts_with('/')) return "its state folder must be a whole path";
  if (!spec.folder.starts_with('/')) return "its folder must be a whole path";
  for (const auto& [name, value] : spec.environment) {
    const bool is_bad = name.empty() || name.find('=') != std::string::npos ||
                        (name + value).find('\0') != std::string::npos;
    if (is_bad) return fmt::format("its environment cannot have \"{}\"", name);
    if (name.starts_with("PERDURE_")) return fmt::format("{} is set by the dispatcher", name);
  }
  for (const int code : spec.error_codes) {
    if (is_among(spec.nothing_codes, code)) return fmt::format("code {} is declared twice", code);
  }
  for (const int code : {0, nothing_happened, never_happens}) {
    if (is_among(spec.error_codes, code) || is_among(spec.nothing_codes, code)) {
      return fmt::format("code {} has its meaning already", code);
    }
  }
  return {};
}

}  // namespace

Result<ToolSpec> make_exec_tool(ExecSpec spec) {
  const std::string name = spec.spec.tool.name;
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, fmt::format("tool {}: {}", name, why), name);
  };
  if (const std::string problem = problem_of(spec); !problem.empty()) {
    return refuse(ErrorCode::invalid_argument, problem);
  }
  for (auto* command : {&spec.command, &spec.verify}) {
    if (command->empty()) continue;
    auto program = find_program(command->front());
    if (!program) return refuse(program.error().code, program.error().message);
    command->front() = *std::move(program);
  }
  ToolSpec made = spec.spec;
  made.path_args.place.folder = spec.folder;
  const bool is_verifiable = !spec.verify.empty();
  // Declared before it is asked for: the effect class follows from it.
  if (is_verifiable) spec.spec.tool.verify = [](const VerifyContext&) { return CannotTell{}; };
  // Shared by the copies that attempts make of a tool; never changed.
  const auto tool = std::make_shared<const ExecTool>(std::move(spec));
  made.tool.run = [tool](const CallContext& context) { return tool->run(context); };
  made.tool.end_leftovers = [tool](const LeftoverContext& context) {
    return tool->end_leftovers(context);
  };
  if (is_verifiable) {
    made.tool.verify = [tool](const VerifyContext& context) { return tool->verify(context); };
  }
  return made;
}

}  // namespace perdure
