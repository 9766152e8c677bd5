// Saving what can still be read of a damaged store.

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_salvage(CommandContext& context) {
  auto from = file_path(context.given().arguments.at(0), context.io().folder);
  if (!from) return forward(from);
  auto to = file_path(context.given().arguments.at(1), context.io().folder);
  if (!to) return forward(to);
  auto report = salvage_store(*from, *to, context.progress("salvaging").follow());
  if (!report) return forward(report);
  context.output().document("perdure.salvage/1", {{"to", *to},
                                                  {"sessions", report->sessions},
                                                  {"whole", report->whole},
                                                  {"entries", report->entries},
                                                  {"entries_lost", report->entries_lost},
                                                  {"entries_damaged", report->entries_damaged},
                                                  {"pages_unreadable", report->pages_unreadable},
                                                  {"found", report->found},
                                                  {"damage", as_json(report->damage)}});
  context.screen().line(
      fmt::format("Saved {} to {}: {} lost nothing. {} entries kept, {} lost, {} damaged.",
                  counted(report->sessions, "session"), *to, report->whole, report->entries,
                  report->entries_lost, report->entries_damaged));
  print_damage(context.screen(), report->damage);
  if (report->found > 0) {
    context.advice().line(
        fmt::format("A check of it will find {}, and no salvage can mend that.",
                    report->found == 1 ? "this" : "these " + std::to_string(report->found)));
    context.advice().line(loss_advice);
  }
  context.advice().line(fmt::format(
      "{} was not changed. Unfinished sessions of the new store are paused and need attention.",
      *from));
  const bool is_whole = report->entries_lost + report->entries_damaged + report->found == 0;
  return is_whole ? Exit::done : Exit::damaged;
}

}  // namespace

Command salvage_command() {
  return {
      .name = "salvage",
      .summary = "Save what can still be read of a damaged store file",
      .details = "Ends with 6 if something of it is lost for good: the new store holds the rest.",
      .arguments = {{.name = "FROM",
                     .summary = "The damaged file; it is not changed",
                     .by = Completes::file},
                    {.name = "TO", .summary = "A new store", .by = Completes::file}},
      .exits = {Exit::not_found, Exit::damaged, Exit::unsupported},
      .examples = {{"perdure salvage agents.db saved.db", "then: perdure check --store saved.db"}},
      .schema = "perdure.salvage/1",
      .body = {.run = run_salvage}};
}

}  // namespace perdure::cli
