// The list of sessions. It reads rows that carry no payload, a page at a time, and stops at the
// limit: the first screen takes as long for ten sessions as for ten thousand.

#include <algorithm>
#include <chrono>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// The store sorts all it has for each page, so a reader of many rows takes larger ones.
constexpr std::size_t page_rows = 200;
constexpr std::size_t page_growth = 4;
constexpr std::size_t page_rows_max = 10'000;
constexpr Duration old_age = std::chrono::days(30);
constexpr Duration look_again = std::chrono::seconds(10);
constexpr Duration look_at_terminal = std::chrono::milliseconds(500);

struct Listing {
  std::vector<SessionSummary> rows{};
  std::size_t hidden = 0;  ///< Sub-agents and old ones that were passed over.
  std::string next{};      ///< Where those that follow begin; empty: there are none.
  bool is_damaged = false;
};

bool is_hidden_row(const SessionSummary& row, Timestamp now) {
  if (row.parent && row.parent->lineage == Lineage::child) return true;
  return has_ended(row.status) && !row.needs_attention() && now - row.updated_at > old_age;
}

struct Wish {
  SessionQuery query{};
  SessionTest fits{};
  std::size_t limit = 50;
  bool all = false;
};

// The place after so many rows of a page, as the end of a shorter one.
Result<std::string> cursor_after(Store& store, SessionQuery query, std::size_t rows) {
  if (rows == 0) return query.cursor;
  query.limit = rows;
  auto page = store.sessions().list(query);
  if (!page) return forward(page);
  return page->next;
}

Result<Listing> read_listing(Store& store, Wish wish, Timestamp now) {
  Listing listing;
  wish.query.limit = page_rows;
  do {
    auto page = store.sessions().list(wish.query);
    if (!page) return forward(page);
    listing.is_damaged = listing.is_damaged || page->is_damaged;
    for (std::size_t i = 0; i < page->sessions.size(); ++i) {
      SessionSummary& row = page->sessions[i];
      if (!wish.fits(row)) continue;
      if (!wish.all && is_hidden_row(row, now)) {
        ++listing.hidden;
      } else if (listing.rows.size() == wish.limit) {
        auto next = cursor_after(store, wish.query, i);
        if (!next) return forward(next);
        listing.next = *std::move(next);
        return listing;
      } else {
        listing.rows.push_back(std::move(row));
      }
    }
    wish.query.cursor = page->next;
    wish.query.limit = std::min(wish.query.limit * page_growth, page_rows_max);
  } while (!wish.query.cursor.empty());
  return listing;
}

SessionSort sort_named(const std::string& name) {
  if (name == "created") return SessionSort::created;
  if (name == "title") return SessionSort::title;
  if (name == "turns") return SessionSort::turns;
  return name == "cost" ? SessionSort::cost : SessionSort::updated;
}

Result<Wish> wish_of(CommandContext& context) {
  const Invocation& given = context.given();
  Wish wish{.all = given.has("all")};
  auto fits = filter_from(given.arguments, context.io().clock->now());
  if (!fits) return forward(fits);
  wish.fits = *std::move(fits);
  wish.limit = static_cast<std::size_t>(number_option(given, "limit", 50));
  const std::string sort = given.find("sort").value_or("updated");
  wish.query.sort = sort_named(sort);
  wish.query.descending = sort != "title";
  wish.query.cursor = given.find("after").value_or("");
  return wish;
}

std::vector<Piece> cells_of(CommandContext& context, const SessionSummary& row) {
  const Tally& tally = row.tally;
  return {shown(shown_state(row), context.is_terminal()),
          {context.short_id(row.id.text())},
          {title_of(row)},
          {std::to_string(tally.turns)},
          {std::to_string(tally.steps)},
          row.attention > 0 ? Piece{std::to_string(row.attention), Ink::red} : Piece{"-", Ink::dim},
          {short_count(tally.tokens_in + tally.tokens_out)},
          {context.when(row.updated_at), Ink::dim}};
}

// All that makes a list look as it does.
std::string look_of(CommandContext& context, const Listing& listing) {
  std::string look = fmt::format("{} {} {} {}\n", context.screen().columns(), listing.hidden,
                                 listing.next, listing.is_damaged);
  for (const SessionSummary& row : listing.rows) {
    if (context.output().is_json())
      look += as_json(row).text() + '\n';
    else
      for (const Piece& cell : cells_of(context, row)) look += cell.text + '\n';
  }
  return look;
}

void print_table(CommandContext& context, const Listing& listing) {
  Table table({{.heading = "STATE"},
               {.heading = "ID"},
               {.heading = "TITLE", .least = 12},
               {.heading = "TURNS", .is_right = true, .drop = 1},
               {.heading = "STEPS", .is_right = true, .drop = 3},
               {.heading = "DOUBT", .is_right = true, .drop = 2},
               {.heading = "TOKENS", .is_right = true, .drop = 4},
               {.heading = "CHANGED"}});
  for (const SessionSummary& row : listing.rows) table.add(cells_of(context, row));
  table.print(context.screen());
}

// A call in doubt is settled; a session that came out of a backup or a bundle only wants to be looked at.
void say_what_helps(CommandContext& context, const Listing& listing) {
  const auto find = [&](bool is_in_doubt) {
    return std::ranges::find_if(listing.rows, [=](const SessionSummary& row) {
      return row.needs_attention() && (row.attention > 0) == is_in_doubt;
    });
  };
  if (find(true) != listing.rows.end()) {
    context.advice().line("What needs attention: " + context.command("pending"));
  }
  if (const auto restored = find(false); restored != listing.rows.end()) {
    context.advice().line("What came out of a backup or a bundle is paused until it is resumed: " +
                          context.command("show " + context.short_id(restored->id.text())));
  }
}

void say_what_is_missing(CommandContext& context, const Listing& listing) {
  if (listing.rows.empty()) {
    context.advice().line(listing.hidden > 0   ? "No session fits but hidden ones."
                          : listing.is_damaged ? "No session that can be read fits."
                                               : "No session fits.");
  }
  if (listing.hidden > 0) {
    context.advice().line(fmt::format(
        "{} hidden: sub-agents, or finished over 30 days ago; --all shows them.", listing.hidden));
  }
  if (!listing.next.empty()) {
    context.advice().line(
        fmt::format("There are more: --limit, a filter, or --after {}", listing.next));
  }
  say_what_helps(context, listing);
}

Exit print_once(CommandContext& context, const Listing& listing) {
  Output& output = context.output();
  output.begin_list("perdure.sessions/1");
  for (const SessionSummary& row : listing.rows) output.item(as_json(row));
  Json::Object rest = {{"hidden", listing.hidden},
                       {"has_more", !listing.next.empty()},
                       {"next_cursor", listing.next.empty() ? Json(nullptr) : Json(listing.next)}};
  if (listing.is_damaged) rest.push_back({"damaged", true});
  output.end_list(rest);
  if (!listing.rows.empty()) print_table(context, listing);
  say_what_is_missing(context, listing);
  if (!listing.is_damaged) return Exit::done;
  context.talk().line(
      "! The list of sessions is damaged: there may be more than can be read. perdure check says "
      "where, perdure salvage FROM TO saves what is left.");
  return Exit::damaged;
}

// Until it is to be shown again: something or the terminal changed, or relative times grew old.
Result<void> await_reason(CommandContext& context, Store& store, std::uint64_t seen) {
  for (Duration waited{0}; waited < look_again; waited += look_at_terminal) {
    auto now = store.wait_for_change(seen, look_at_terminal);
    if (!now) return forward(now);
    context.screen().flush();  // Also if nothing was written: the reader may be gone.
    if (*now > seen || context.follows_resize() || !context.screen().is_open()) return {};
  }
  return {};
}

Result<void> check_sessions(CommandContext& context) {
  const Invocation& given = context.given();
  if (!given.has("watch") || !given.has("json")) return checked(wish_of(context));
  return misuse("what is watched never ends, and a document must: say --jsonl");
}

Result<Exit> run_sessions(CommandContext& context, Store& store) {
  auto wish = wish_of(context);
  if (!wish) return forward(wish);
  const bool watches = context.given().has("watch");
  Exit exit = Exit::done;
  std::optional<std::string> last_look;
  do {
    auto seen = store.change_number();
    if (!seen) return forward(seen);
    auto listing = read_listing(store, *wish, context.io().clock->now());
    if (!listing) return forward(listing);
    std::string look = look_of(context, *listing);
    if (look != last_look) {
      if (watches && context.screen().can_redraw()) context.screen().bytes("\x1b[H\x1b[2J");
      exit = print_once(context, *listing);
      context.screen().flush();
      last_look = std::move(look);
    }
    if (!watches) break;
    if (auto waited = await_reason(context, store, *seen); !waited) return forward(waited);
  } while (context.screen().is_open());
  return exit;
}

}  // namespace

Command sessions_command() {
  return {
      .name = "sessions",
      .summary = "List sessions, the last changed first",
      .details =
          "Sub-agents and sessions that ended over 30 days ago are hidden without --all. `perdure "
          "ls` is the same command.\n\nA filter is words that all must fit: state:interrupted "
          "tag:prod title:refund* agent:refunds tokens:>20000 cost:>0.5 turns:<3 steps:>100 "
          "active:<2h age:>7d, or words of the title; a dash in front means \"not\": -tag:test "
          "(after --).",
      .arguments = {{.name = "FILTER", .summary = "Words as above", .count = Argument::Count::any}},
      .options = {{.name = "all", .summary = "Hide nothing"},
                  {.name = "sort",
                   .value = "BY",
                   .summary = "updated (default), created, title, turns or cost",
                   .choices = {"updated", "created", "title", "turns", "cost"}},
                  {.name = "limit",
                   .value = "N",
                   .summary = "At most so many; 50 by default",
                   .takes = Takes::count},
                  {.name = "after",
                   .value = "CURSOR",
                   .summary = "Go on after a list that ended with \"There are more\""},
                  {.name = "watch", .summary = "Show it again whenever something changes"}},
      .examples = {{"perdure sessions state:interrupted", "what a crash left behind"},
                   {"perdure sessions --jsonl tag:prod", "for a script"}},
      .schema = "perdure.sessions/1",
      .fields = {"id", "title", "opening", "state", "status", "wait_reason", "wake_at", "in_doubt",
                 "restored", "tags", "metadata", "parent", "holder", "head", "version", "totals",
                 "moved_to", "created_at", "updated_at"},
      .check = check_sessions,
      .body = on_store(run_sessions)};
}

}  // namespace perdure::cli
