// Adding and removing tags of a session.

#include <algorithm>
#include <ranges>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_tag(CommandContext& context, Store& store, const SessionSummary& row) {
  std::vector<std::string> tags = row.tags;
  for (const std::string& gone : context.given().all("remove")) {
    if (std::erase(tags, gone) == 0) context.talk().line(fmt::format("It has no tag {}.", gone));
  }
  for (const std::string& tag : context.given().arguments | std::views::drop(1)) {
    if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
  }
  return annotate_session(context, store, row.id, {.tags = std::move(tags)});
}

}  // namespace

Command tag_command() {
  return {.name = "tag",
          .summary = "Add or remove tags of a session",
          .arguments = {session_argument,
                        {.name = "TAG", .summary = "Tags to add", .count = Argument::Count::any}},
          .options =
              {{.name = "remove", .value = "TAG", .summary = "A tag to remove", .repeats = true}},
          .examples = {{"perdure tag @last prod --remove test", "for filters: tag:prod"}},
          .schema = "perdure.renamed/1",
          .body = on_session(run_tag)};
}

}  // namespace perdure::cli
