// Giving a session a title.

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_rename(CommandContext& context, Store& store, const SessionSummary& row) {
  return annotate_session(context, store, row.id, {.title = context.given().arguments.at(1)});
}

}  // namespace

Command rename_command() {
  return {
      .name = "rename",
      .summary = "Give a session a title",
      .arguments = {session_argument, {.name = "TITLE", .summary = "The title"}},
      .examples = {{"perdure rename @last 'Refund order 4711'", "found by its title from now on"}},
      .schema = "perdure.renamed/1",
      .body = on_session(run_rename)};
}

}  // namespace perdure::cli
