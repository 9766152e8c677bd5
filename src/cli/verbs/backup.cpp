// Copying a store to a new file while others write to it.

#include <filesystem>
#include <system_error>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<void> check_backup(CommandContext& context) {
  return checked(file_path(context.given().arguments.front(), context.io().folder));
}

Result<Exit> run_backup(CommandContext& context, Store& store) {
  const std::string to = whole_path(context.given().arguments.front(), context.io().folder);
  auto done = store.upkeep().backup(to, context.progress("backing up").follow());
  if (!done) return forward(done);
  std::error_code failed;
  const auto size = std::filesystem::file_size(to, failed);
  const std::uint64_t bytes = failed ? 0 : size;
  context.output().document("perdure.backup/1", {{"to", to}, {"bytes", bytes}});
  context.screen().line(fmt::format("Backed up to {} ({}).", to, bytes_text(bytes)));
  context.advice().line(
      "It is restored by opening it; its unfinished sessions then come up paused and need "
      "attention.");
  return Exit::done;
}

}  // namespace

Command backup_command() {
  return {.name = "backup",
          .summary = "Copy the store to a new file while others go on writing",
          .arguments = {{.name = "FILE", .summary = "The new file", .by = Completes::file}},
          .examples = {{"perdure backup monday.db", "restored by opening it"}},
          .schema = "perdure.backup/1",
          .check = check_backup,
          .body = on_store(run_backup)};
}

}  // namespace perdure::cli
