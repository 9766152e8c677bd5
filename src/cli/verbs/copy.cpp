// Copying sessions to another store.

#include "store/api/location.hpp"
#include "store/api/seam.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_copy(CommandContext& context, Store& from) {
  auto place = context.other_location();
  if (!place) return forward(place);
  // Before the other store is made.
  auto rows = named_sessions(context, from, 1);
  if (!rows) return forward(rows);
  auto to = context.open_at(*place, true);
  if (!to) return forward(to);
  const std::string shown = shown_location(*place);
  Json::Array copies;
  for (const SessionSummary& row : *rows) {
    const CopyOptions options{.id = mint<SessionTag>(*context.io().ids),
                              .with_damage = context.given().has("with-damage")};
    auto report = copy_session(from, row.id, **to, options, context.progress("copying").follow());
    if (!report) return forward(report);
    copies.push_back(Json::Object{{"from", row.id.text()},
                                  {"id", options.id.text()},
                                  {"entries", report->entries},
                                  {"blobs", report->blobs}});
    context.screen().line(fmt::format("Copied {} to {} as {}: {} entries; it is paused.",
                                      row.id.text(), shown, options.id.text(), report->entries));
  }
  context.output().document("perdure.copy/1", {{"to", shown}, {"copies", std::move(copies)}});
  context.advise_next("perdure sessions --store " + shown);
  return Exit::done;
}

}  // namespace

Command copy_command() {
  return {.name = "copy",
          .summary = "Copy sessions to another store, as paused forks",
          .details =
              "A copy has a new id and the session's history. Calls without an outcome stay with "
              "the session: the copy never runs them. The session itself is not changed.",
          .arguments = {place_argument,
                        {.name = "SES",
                         .summary = "The sessions to copy",
                         .count = Argument::Count::some,
                         .by = Completes::session}},
          .options = {{.name = "with-damage", .summary = "Copy damaged sessions as they are"}},
          .examples = {{"perdure copy try.db ses_7k2m", "try something out elsewhere"}},
          .schema = "perdure.copy/1",
          .check = [](CommandContext& context) { return checked(context.other_location()); },
          .body = on_store(run_copy)};
}

}  // namespace perdure::cli
