// The versions of a session, newest first.

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "place/reference.hpp"
#include "screen/table.hpp"
#include "screen/words.hpp"
#include "verbs/as_json.hpp"
#include "verbs/values.hpp"

namespace perdure::cli {
namespace {

void print_checkpoints(Desk& desk, const std::vector<Checkpoint>& found) {
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
               {desk.when(checkpoint.at), Ink::dim},
               {checkpoint.reason},
               {checkpoint.label}});
  }
  if (table.empty()) {
    const auto label = desk.given().find("label");
    desk.talk().line(label ? fmt::format("It has no version with the label {}.", *label)
                           : "It has no versions.");
  } else {
    table.print(desk.screen());
  }
}

Result<Exit> run_checkpoints(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto row = find_session(**store, desk.given().arguments.front());
  if (!row) return forward(row);
  auto limit = number_option(desk.given(), "limit", 100);
  if (!limit) return forward(limit);
  auto found =
      (*store)->log().checkpoints(row->id, {.label = desk.given().find("label").value_or(""),
                                            .limit = static_cast<std::size_t>(*limit)});
  if (!found) return forward(found);
  desk.output().begin_list("perdure.checkpoints/1");
  for (const Checkpoint& checkpoint : *found) desk.output().item(as_json(checkpoint));
  desk.output().end_list();
  if (!desk.output().is_json()) print_checkpoints(desk, *found);
  return Exit::done;
}

}  // namespace

Command checkpoints_command() {
  return {
      .name = "checkpoints",
      .summary = "List the versions of a session",
      .arguments = {{.name = "SES", .summary = "The session", .by = Completes::session}},
      .options = {{.name = "label", .value = "TEXT", .summary = "Only those with this label"},
                  {.name = "limit", .value = "N", .summary = "At most so many; 100 by default"}},
      .opens_store = true,
      .examples = {{"perdure checkpoints @last", "points to go back to"}},
      .schema = "perdure.checkpoints/1",
      .fields = {"version", "position", "at", "reason", "label", "metadata", "totals"},
      .run = run_checkpoints};
}

}  // namespace perdure::cli
