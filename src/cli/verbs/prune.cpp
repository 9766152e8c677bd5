// Forgetting old versions on purpose. Asks first.

#include <chrono>
#include <tuple>

#include "store/api/seam.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr Duration blob_rest = std::chrono::hours(1);

Keep keep_of(CommandContext& context) {
  const Invocation& given = context.given();
  Keep keep{.last = static_cast<std::uint64_t>(number_option(given, "keep-last", 1)),
            .every = static_cast<std::uint64_t>(number_option(given, "keep-every", 0)),
            .labelled = !given.has("drop-labelled")};
  const auto older = span_from(given.find("older-than").value_or(""));
  if (older) keep.since = context.io().clock->now() - *older;
  return keep;
}

// How many versions would go.
Result<std::uint64_t> count_going(Store& store, const std::vector<SessionSummary>& rows,
                                  const Keep& keep) {
  std::uint64_t count = 0;
  for (const SessionSummary& row : rows) {
    auto versions = store.log().checkpoints(row.id, {.limit = limit_max});
    if (!versions) return forward(versions);
    count += count_prunable(*versions, keep);
  }
  return count;
}

Result<Pruned> prune_all(CommandContext& context, Store& store,
                         const std::vector<SessionSummary>& rows, const Keep& keep) {
  ProgressBar bar = context.progress("pruning");
  const Progress progress = bar.follow();
  Pruned total;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ignore = progress({.done = i, .total = rows.size()});
    auto pruned = store.upkeep().prune(rows[i].id, keep);
    if (!pruned) return forward(pruned);
    total.versions += pruned->versions;
    total.entries += pruned->entries;
    total.bytes += pruned->bytes;
  }
  auto blobs = store.upkeep().collect_blobs(blob_rest);
  if (!blobs) return forward(blobs);
  total.bytes += blobs->bytes;
  if (auto freed = store.upkeep().vacuum(); !freed) return forward(freed);
  return total;
}

Result<Exit> run_prune(CommandContext& context, Store& store) {
  const Keep keep = keep_of(context);
  auto rows =
      context.given().arguments.empty() ? all_sessions(store) : named_sessions(context, store, 0);
  if (!rows) return forward(rows);
  auto count = count_going(store, *rows, keep);
  if (!count) return forward(count);
  const bool is_dry = context.given().has("dry-run");
  const std::string what =
      fmt::format("{} of {}", counted(*count, "version"), counted(rows->size(), "session"));
  if (!is_dry && !context.confirms(fmt::format("Forget {}, and what only they can see?", what)))
    return Exit::unconfirmed;
  auto total = is_dry ? Pruned{.versions = *count} : prune_all(context, store, *rows, keep);
  if (!total) return forward(total);
  context.output().document("perdure.pruned/1", {{"dry_run", is_dry},
                                                 {"sessions", rows->size()},
                                                 {"versions", total->versions},
                                                 {"entries", total->entries},
                                                 {"bytes", total->bytes}});
  context.screen().line(is_dry ? fmt::format("Would forget {}; nothing was done.", what)
                               : fmt::format("Forgot {}: {} entries, {}.",
                                             counted(total->versions, "version"), total->entries,
                                             bytes_text(total->bytes)));
  return Exit::done;
}

}  // namespace

Command prune_command() {
  return {.name = "prune",
          .summary = "Forget old versions, and what only they can see",
          .details =
              "Of each session its newest version stays, those with a label, and those that an "
              "option names. The head always stays, and whatever a fork or a kept version can see. "
              "Unused space goes back to the disk.",
          .arguments = {sessions_argument},
          .options = {{.name = "older-than",
                       .value = "TIME",
                       .summary = "Keep versions younger than this: 90d, 12h",
                       .takes = Takes::span},
                      {.name = "keep-last",
                       .value = "N",
                       .summary = "Keep so many of the newest; 1 by default",
                       .takes = Takes::count},
                      {.name = "keep-every",
                       .value = "N",
                       .summary = "Keep those whose number it divides",
                       .takes = Takes::count},
                      {.name = "drop-labelled", .summary = "Forget those with a label too"},
                      {.name = "dry-run", .summary = "Only say how many would go"}},
          .exits = {Exit::unconfirmed},
          .examples = {{"perdure prune --older-than 90d --dry-run", "what would go"}},
          .schema = "perdure.pruned/1",
          .body = on_store(run_prune)};
}

}  // namespace perdure::cli
