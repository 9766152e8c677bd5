// The demonstration: a script that is stored with the refund desk, and replaces this process.

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <signal.h>
#include <system_error>
#include <unistd.h>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// From the folder of the program: as it is installed, and as it is built.
constexpr std::array desk_places = {"../lib/perdure/refund-desk", "../examples/refund_desk"};

Result<std::filesystem::path> find_desk(const std::filesystem::path& program) {
  std::string looked_at;
  for (const char* place : desk_places) {
    const auto folder = (program.parent_path() / place).lexically_normal();
    std::error_code ignored;
    if (std::filesystem::exists(folder / "refund_desk", ignored)) return folder;
    looked_at += fmt::format("{}{}", looked_at.empty() ? "" : " and ", folder.string());
  }
  return fail(ErrorCode::not_found,
              fmt::format("the refund desk is not there, it was looked for at {}: it comes with "
                          "perdure's packages, and is built by `make demo`",
                          looked_at));
}

Result<Exit> run_demo(CommandContext& context) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  auto place = find_desk(program);
  if (!place) return forward(place);
  std::vector<std::string> words = {"bash", *place / "demo", program, *place};
  for (const std::string& word : context.given().arguments) words.push_back(word);
  std::vector<char*> given;
  for (std::string& word : words) given.push_back(word.data());
  given.push_back(nullptr);
  context.screen().flush();
  // What is ignored or blocked here would be so there too.
  std::signal(SIGPIPE, SIG_DFL);
  context.signals().unblock();
  ::execvp(given.front(), given.data());
  const std::string why = std::generic_category().message(errno);
  context.signals().block_again();
  std::signal(SIGPIPE, SIG_IGN);
  return fail(ErrorCode::unavailable,
              fmt::format("bash, which runs the demonstration, cannot be started: {}", why));
}

}  // namespace

Command demo_command() {
  return {.name = "demo",
          .summary = "Kill an agent right after it paid, and see it go on",
          .details =
              "In half a minute, without a key or a network: a refund desk (a scripted model, real "
              "programs, a real little bank) is killed with SIGKILL right after the bank took the "
              "money, and resumes; the bank's own book shows one payment. It works in a folder of "
              "its own, which stays, to be looked at.",
          .arguments = {{.name = "FOLDER",
                         .summary = "Where; a folder of its own below the temporary one by default",
                         .count = Argument::Count::maybe,
                         .by = Completes::file}},
          .exits = {Exit::not_found},
          .examples = {{"perdure demo", "the product in half a minute"}},
          .body = {.run = run_demo}};
}

}  // namespace perdure::cli
