// Copying a store to a new file while others write to it.

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <system_error>
#include <vector>

#include "context/options.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_backup(CommandContext& context) {
  auto to = file_path(context.given().arguments.front(), context.io().folder);
  if (!to) return forward(to);
  auto store = context.open();
  if (!store) return forward(store);
  auto done = [&] {
    ProgressBar bar(context.talk(), *context.io().clock, "backing up");
    return (*store)->upkeep().backup(*to, bar.follow());
  }();
  if (!done) return forward(done);
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(*to, ignored);
  context.output().document("perdure.backup/1", {{"to", *to}, {"bytes", ignored ? 0 : bytes}});
  if (context.output().is_json()) return Exit::done;
  context.screen().line(fmt::format("Backed up to {} ({}).", *to, bytes_text(bytes)));
  context.talk().line(
      "It is restored by opening it; its unfinished sessions then come up paused and need "
      "attention.");
  return Exit::done;
}

}  // namespace

Command backup_command() {
  return {.name = "backup",
          .summary = "Copy the store to a new file while others go on writing",
          .arguments = {{.name = "FILE", .summary = "The new file", .by = Completes::file}},
          .opens_store = true,
          .examples = {{"perdure backup monday.db", "restored by opening it"}},
          .schema = "perdure.backup/1",
          .run = run_backup};
}

}  // namespace perdure::cli
