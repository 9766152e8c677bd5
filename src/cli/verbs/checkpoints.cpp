// The versions of a session, newest first.

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

void print_checkpoints(CommandContext& context, const std::vector<Checkpoint>& found) {
  Table table({{.heading = "VERSION", .is_right = true},
               {.heading = "POSITION", .is_right = true, .drop = 2},
               {.heading = "TURNS", .is_right = true},
               {.heading = "STEPS", .is_right = true, .drop = 1},
               {.heading = "TOKENS", .is_right = true, .drop = 3},
               {.heading = "MADE"},
               {.heading = "REASON", .least = 8},
               {.heading = "LABEL", .least = 8}});
  for (const Checkpoint& checkpoint : found) {
    const Tally& tally = checkpoint.tally;
    table.add({{"v" + std::to_string(checkpoint.version), Ink::bold},
               {std::to_string(checkpoint.position)},
               {std::to_string(tally.turns)},
               {std::to_string(tally.steps)},
               {short_count(tally.tokens_in + tally.tokens_out)},
               {context.when(checkpoint.at), Ink::dim},
               {checkpoint.reason},
               {checkpoint.label}});
  }
  if (!table.empty()) return table.print(context.screen());
  const auto label = context.given().find("label");
  context.advice().line(label ? fmt::format("It has no version with the label {}.", *label)
                              : "It has no versions.");
}

Result<Exit> run_checkpoints(CommandContext& context, Store& store, const SessionSummary& row) {
  const auto limit = static_cast<std::size_t>(number_option(context.given(), "limit", 100));
  auto found = store.log().checkpoints(
      row.id, {.label = context.given().find("label").value_or(""), .limit = limit});
  if (!found) return forward(found);
  context.output().begin_list("perdure.checkpoints/1");
  for (const Checkpoint& checkpoint : *found) context.output().item(as_json(checkpoint));
  context.output().end_list();
  print_checkpoints(context, *found);
  return Exit::done;
}

}  // namespace

Command checkpoints_command() {
  return {.name = "checkpoints",
          .summary = "List the versions of a session",
          .arguments = {session_argument},
          .options = {{.name = "label", .value = "TEXT", .summary = "Only those with this label"},
                      {.name = "limit",
                       .value = "N",
                       .summary = "At most so many; 100 by default",
                       .takes = Takes::count}},
          .examples = {{"perdure checkpoints @last", "points to go back to"}},
          .schema = "perdure.checkpoints/1",
          .fields = {"version", "position", "at", "reason", "label", "metadata", "totals"},
          .body = on_session(run_checkpoints)};
}

}  // namespace perdure::cli
