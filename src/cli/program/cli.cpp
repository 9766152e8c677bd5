// From words to a verb, and from what it answers to an exit code and one clear message.

#include "program/cli.hpp"

#include <exception>
#include <ostream>

#include "command/help.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::string_view mend_and_repeat =
    " Whatever was acknowledged before is kept: mend that, then give the command again.";

void report_json(ProcessIo& io, const Error& error, Exit exit) {
  const Json problem =
      Json::Object{{"schema", "perdure.error/1"},      {"code", to_string(error.code)},
                   {"exit", std::to_underlying(exit)}, {"message", error.message},
                   {"subject", error.subject},         {"docs", page_path(error.code)}};
  io.err << json_visible(problem.text()) << '\n';
}

// For people, or, where JSON was asked for, for programs; always on stderr.
int report(ProcessIo& io, const Error& error, bool as_json) {
  const Exit exit = exit_for(error);
  io.is_output_told = error.subject == output_subject;
  if (as_json) {
    report_json(io, error, exit);
  } else {
    io.err << "perdure: " << visible(error.message, Lines::many);
    // Who types commands has no batch to repeat.
    if (error.code == ErrorCode::commit_unknown) io.err << mend_and_repeat;
    io.err << "\nMore: perdure help " << to_string(error.code) << '\n';
  }
  return std::to_underlying(exit);
}

bool asks_for_json(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--json" || word == "--jsonl") return true;
  }
  return false;
}

Result<Exit> run_verb(ProcessIo& io, Invocation given, std::vector<Setting> settings) {
  const Command& command = *given.command;
  if ((given.has("json") || given.has("jsonl")) && command.schema.empty()) {
    return misuse(fmt::format("{} has no JSON to print", command.name));
  }
  auto fields = fields_of(given);
  if (!fields) return forward(fields);
  CommandContext context(io, std::move(given), std::move(settings), *std::move(fields));
  auto fits = command.check ? command.check(context) : Result<void>();
  auto exit = fits ? command.body.run(context) : forward(fits);
  if (!exit) context.output().close_list();
  io.out.flush();
  if (exit && *exit == Exit::unconfirmed && context.output().is_json()) {
    const std::string message = context.asked() + " Not confirmed: pass --yes.";
    report_json(io, {ErrorCode::invalid_argument, message, "--yes"}, *exit);
  }
  return exit;
}

}  // namespace

int run(ProcessIo& io, const std::vector<std::string>& words) {
  const bool as_json = asks_for_json(words);
  try {
    auto given = parse(commands(), words);
    if (!given) return report(io, given.error(), as_json);
    if (given->has("version")) given->command = find_command("version");
    if (given->command == nullptr || given->has("help")) {
      io.out << (given->command == nullptr ? overview(commands()) : help_of(*given->command));
      return std::to_underlying(words.empty() ? Exit::usage : Exit::done);
    }
    auto settings = read_settings(io, *given);
    if (!settings) return report(io, settings.error(), as_json);
    auto exit = run_verb(io, *std::move(given), *std::move(settings));
    return exit ? std::to_underlying(*exit) : report(io, exit.error(), as_json);
  } catch (const std::exception& thrown) {
    const Error error{
        ErrorCode::unavailable, fmt::format("something failed: {}", thrown.what()), {}};
    return report(io, error, as_json);
  }
}

}  // namespace perdure::cli
