// Forgetting on purpose: versions, whole sessions. Both ask first.

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/call_words.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/kept_versions.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/progress.hpp"
#include "perdure/store/retention.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "place/reference.hpp"
#include "screen/progress_bar.hpp"
#include "screen/words.hpp"
#include "verbs/values.hpp"

namespace perdure::cli {
namespace {

constexpr Duration blob_rest = std::chrono::hours(1);

Result<std::vector<SessionId>> named_sessions(Desk& desk, Store& store) {
  std::vector<SessionId> ids;
  for (const std::string& text : desk.given().arguments) {
    auto row = find_session(store, text);
    if (!row) return forward(row);
    ids.push_back(row->id);
  }
  if (!ids.empty()) return ids;
  SessionQuery query{.limit = 1000};
  do {
    auto page = store.sessions().list(query);
    if (!page) return forward(page);
    for (const SessionSummary& row : page->sessions) {
      ids.push_back(row.id);
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return ids;
}

Result<Keep> keep_of(Desk& desk) {
  Keep keep{.labelled = !desk.given().has("drop-labelled")};
  auto last = number_option(desk.given(), "keep-last", 1);
  if (!last) return forward(last);
  keep.last = static_cast<std::uint64_t>(*last);
  auto every = number_option(desk.given(), "keep-every", 0);
  if (!every) return forward(every);
  keep.every = static_cast<std::uint64_t>(*every);
  const auto older = desk.given().find("older-than");
  if (!older) return keep;
  const auto span = span_from(*older);
  if (!span)
    return fail(ErrorCode::invalid_argument,
                fmt::format("--older-than {} is no time: write 90d, 12h or 30m", *older));
  keep.since = desk.world().clock->now() - *span;
  return keep;
}

// How many versions would go.
Result<std::uint64_t> count_going(Store& store, const std::vector<SessionId>& ids,
                                  const Keep& keep) {
  std::uint64_t count = 0;
  for (const SessionId& id : ids) {
    auto versions = store.log().checkpoints(id, {.limit = limit_max});
    if (!versions) return forward(versions);
    count += count_prunable(*versions, keep);
  }
  return count;
}

Result<Pruned> prune_all(Desk& desk, Store& store, const std::vector<SessionId>& ids,
                         const Keep& keep) {
  ProgressBar bar(desk.talk(), *desk.world().clock, "pruning");
  const Progress progress = bar.follow();
  Pruned total;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::ignore = progress({.done = i, .total = ids.size()});
    auto pruned = store.retention().prune(ids[i], keep);
    if (!pruned) return forward(pruned);
    total.versions += pruned->versions;
    total.entries += pruned->entries;
    total.bytes += pruned->bytes;
  }
  auto blobs = store.retention().collect_blobs(blob_rest);
  if (!blobs) return forward(blobs);
  total.bytes += blobs->bytes;
  if (auto freed = store.retention().vacuum(); !freed) return forward(freed);
  return total;
}

Result<Exit> run_prune(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto keep = keep_of(desk);
  if (!keep) return forward(keep);
  auto ids = named_sessions(desk, **store);
  if (!ids) return forward(ids);
  auto count = count_going(**store, *ids, *keep);
  if (!count) return forward(count);
  const bool is_dry = desk.given().has("dry-run");
  const std::string what =
      fmt::format("{} of {}", counted(*count, "version"), counted(ids->size(), "session"));
  Pruned total{.versions = *count};
  if (!is_dry) {
    if (!desk.confirms(fmt::format("Forget {}, and what only they can see?", what)))
      return Exit::unconfirmed;
    auto pruned = prune_all(desk, **store, *ids, *keep);
    if (!pruned) return forward(pruned);
    total = *pruned;
  }
  desk.output().document("perdure.pruned/1", {{"dry_run", is_dry},
                                              {"sessions", ids->size()},
                                              {"versions", total.versions},
                                              {"entries", total.entries},
                                              {"bytes", total.bytes}});
  if (desk.output().is_json()) return Exit::done;
  desk.screen().line(is_dry ? fmt::format("Would forget {}; nothing was done.", what)
                            : fmt::format("Forgot {}: {} entries, {}.",
                                          counted(total.versions, "version"), total.entries,
                                          bytes_text(total.bytes)));
  return Exit::done;
}

struct Removal {
  PlaceInSession place{};
  std::uint64_t bytes = 0;
};

// Whoever runs it can be stopped. A call that was never made needs no decision, only somebody who gives
// it up.
Error with_next_command(const Desk& desk, Store& store, const SessionId& id, Error error) {
  if (error.code == ErrorCode::lease_held) {
    error.message += ". To stop it: " + desk.command("pause " + desk.short_id(id.text()));
    return error;
  }
  const auto colon = error.subject.rfind(':');
  if (error.code != ErrorCode::conflict || colon == std::string::npos) return error;
  Position position = 0;
  const char* const end = error.subject.data() + error.subject.size();
  if (std::from_chars(error.subject.data() + colon + 1, end, position).ptr != end) return error;
  const auto call = store.ledger().read(id, position);
  if (!call) return error;
  error.message = call->state == CallState::intended
                      ? fmt::format("call {} was asked for and not made yet; give it up first: {}",
                                    error.subject, desk.command("cancel " + id.text()))
                      : fmt::format("{}: {}", error.message, settle_command(desk, error.subject));
  return error;
}

Result<void> remove_one(const Desk& desk, Store& store, Removal& removal) {
  const SessionId& id = removal.place.session.id;
  if (removal.place.version) {
    auto pruned = store.retention().forget(id, *removal.place.version);
    if (!pruned) return forward(pruned);
    removal.bytes = pruned->bytes;
    return {};
  }
  auto freed = store.retention().remove(id);
  if (!freed) return std::unexpected(with_next_command(desk, store, id, std::move(freed).error()));
  removal.bytes = freed->bytes;
  return {};
}

// Of several names one may be gone since an earlier try: whoever repeats it has to leave it out.
Error with_nothing_done(const Desk& desk, Error error) {
  if (error.code != ErrorCode::not_found || desk.given().arguments.size() == 1) return error;
  error.message += ". Nothing was deleted: leave out what is gone, and the others go";
  return error;
}

Result<std::vector<Removal>> removals_of(Desk& desk, Store& store) {
  std::vector<Removal> removals;
  for (const std::string& text : desk.given().arguments) {
    auto place = find_point(store, text);
    if (!place) return std::unexpected(with_nothing_done(desk, std::move(place).error()));
    if (!place->version && !place->is_whole) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} is neither a session nor a version of one", text));
    }
    removals.push_back({.place = *std::move(place)});
  }
  return removals;
}

std::string removal_name(const Removal& removal) {
  return removal.place.version ? removal.place.name : removal.place.session.id.text();
}

Result<Exit> run_delete(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto removals = removals_of(desk, **store);
  if (!removals) return forward(removals);
  for (const Removal& removal : *removals) {
    if (desk.output().is_json()) break;
    desk.talk().line(fmt::format("{}  {}", removal_name(removal), removal.place.session.title));
  }
  const bool is_dry = desk.given().has("dry-run");
  if (!is_dry &&
      !desk.confirms(fmt::format("Delete {} for ever?", removals->size() == 1 ? "it" : "these")))
    return Exit::unconfirmed;
  desk.output().begin_list("perdure.deleted/1");
  for (Removal& removal : *removals) {
    if (!is_dry) {
      if (auto removed = remove_one(desk, **store, removal); !removed) return forward(removed);
    }
    desk.output().item(Json::Object{
        {"what", removal_name(removal)}, {"deleted", !is_dry}, {"bytes", removal.bytes}});
    if (desk.output().is_json()) continue;
    desk.screen().line(
        is_dry ? fmt::format("Would delete {}; nothing was done.", removal_name(removal))
               : fmt::format("Deleted {} ({}).", removal_name(removal), bytes_text(removal.bytes)));
  }
  desk.output().end_list();
  return Exit::done;
}

}  // namespace

Command prune_command() {
  return {.name = "prune",
          .summary = "Forget old versions, and what only they can see",
          .details =
              "Of each session its newest version stays, those with a label, and those that an "
              "option names. The\n"
              "head always stays, and whatever a fork or a kept version can see. Unused space goes "
              "back to the disk.",
          .arguments = {{.name = "SES",
                         .summary = "Only these sessions; all if none is named",
                         .count = Argument::Count::any,
                         .by = Completes::session}},
          .options = {{.name = "older-than",
                       .value = "TIME",
                       .summary = "Keep versions younger than this: 90d, 12h"},
                      {.name = "keep-last",
                       .value = "N",
                       .summary = "Keep so many of the newest; 1 by default"},
                      {.name = "keep-every",
                       .value = "N",
                       .summary = "Keep those whose number it divides"},
                      {.name = "drop-labelled", .summary = "Forget those with a label too"},
                      {.name = "dry-run", .summary = "Only say how many would go"}},
          .opens_store = true,
          .exits = {Exit::unconfirmed},
          .examples = {{"perdure prune --older-than 90d --dry-run", "what would go"}},
          .schema = "perdure.pruned/1",
          .run = run_prune};
}

Command delete_command() {
  return {.name = "delete",
          .summary = "Delete sessions, or versions of them",
          .details =
              "Refused while somebody runs the session or a call of it is unresolved. Forks keep "
              "what they share;\n"
              "keys that its calls hold stay taken. `perdure rm` is the same command.",
          .arguments = {{.name = "SES",
                         .summary = "A session, or a version of it: SES@v3",
                         .count = Argument::Count::some,
                         .by = Completes::session}},
          .options = {{.name = "dry-run", .summary = "Only say what would go"}},
          .opens_store = true,
          .exits = {Exit::unconfirmed},
          .examples = {{"perdure delete ses_5d0c --yes", "without a question"}},
          .schema = "perdure.deleted/1",
          .fields = {"what", "deleted", "bytes"},
          .run = run_delete};
}

}  // namespace perdure::cli
