// Giving a session a title.

#include <fmt/format.h>
#include <vector>

#include "context/sessions.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_rename(CommandContext& context) {
  auto row = named_session(context);
  if (!row) return forward(row);
  return annotate_session(context, row->id, {.title = context.given().arguments.at(1)});
}

}  // namespace

Command rename_command() {
  return {
      .name = "rename",
      .summary = "Give a session a title",
      .arguments = {session_argument, {.name = "TITLE", .summary = "The title"}},
      .opens_store = true,
      .examples = {{"perdure rename @last 'Refund order 4711'", "found by its title from now on"}},
      .schema = "perdure.renamed/1",
      .run = run_rename};
}

}  // namespace perdure::cli
