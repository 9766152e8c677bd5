// The log as it is: one line an entry, and what is appended while one looks.

#include <algorithm>
#include <chrono>

#include "runtime/api/records.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t log_page = 256;
constexpr std::size_t wide_terminal = 72;
constexpr Duration follow_wait = std::chrono::seconds(10);

std::string body_words(const Entry& entry) {
  if (entry.condition == Condition::erased) return "(erased)";
  if (entry.condition == Condition::damaged) return "(damaged)";
  if (const auto blob = entry.body.blob())
    return fmt::format("(blob of {})", bytes_text(blob->size));
  if (entry.channel == "status") {
    if (const auto note = status_note_from_json(entry.kind, entry.body.bytes())) {
      return status_words(*note);
    }
  }
  return entry.body.bytes();
}

void print_entry(CommandContext& context, const Entry& entry) {
  if (context.output().is_json()) {
    context.output().item(as_json(entry));
    return;
  }
  const std::size_t columns = context.screen().columns();
  std::string name = fmt::format("{}/{}", entry.channel, entry.kind);
  if (context.is_terminal()) name = clipped(name, columns / 2);
  const std::size_t name_columns = context.is_terminal() && columns < wide_terminal ? 18 : 24;
  const std::string head =
      fmt::format("{:>6}  {}  {:<{}} ", entry.position, context.when(entry.at), name, name_columns);
  std::string words = visible(body_words(entry));
  const Ink ink = entry.condition == Condition::intact ? Ink::plain : Ink::red;
  if (context.is_terminal()) {
    words = clipped(words, columns - std::min(columns, width_of(head)));
  }
  context.screen().line({{head, Ink::dim}, {words, ink}});
}

// All there is from the query's place on; leaves the query after it.
Result<void> print_rest(CommandContext& context, Store& store, const SessionId& id, LogQuery& query,
                        std::vector<Position>& damaged) {
  for (;;) {
    auto page = store.log().read(id, query);
    if (!page) return forward(page);
    for (const Entry& entry : *page) {
      print_entry(context, entry);
      if (entry.condition == Condition::damaged) damaged.push_back(entry.position);
    }
    if (!page->empty()) query.from = page->back().position + 1;
    if (page->size() < log_page || !context.screen().is_open()) return {};
  }
}

std::string nothing_words(const LogQuery& query) {
  return fmt::format("There is no entry{}{}.",
                     query.channel.empty() ? "" : " in channel " + visible(query.channel),
                     query.from > 1 ? fmt::format(" from position {} on", query.from) : "");
}

Result<void> check_log(CommandContext& context) {
  const Invocation& given = context.given();
  if (!given.has("follow") || !given.has("json")) return {};
  return misuse("what is followed never ends, and a document must: say --jsonl");
}

Result<Exit> run_log(CommandContext& context, Store& store, const PlaceInSession& place) {
  const bool follows = context.given().has("follow");
  if (follows && place.point != Point::head()) {
    return misuse("only the head of a session can be followed");
  }
  LogQuery query{.as_of = place.point,
                 .from = static_cast<Position>(number_option(context.given(), "from", 1)),
                 .channel = context.given().find("channel").value_or(""),
                 .limit = log_page};
  const Position first = query.from;
  std::vector<Position> damaged;
  context.output().begin_list("perdure.log/1");
  for (;;) {
    auto seen = store.change_number();
    if (!seen) return forward(seen);
    auto printed = print_rest(context, store, place.session.id, query, damaged);
    if (!printed) return forward(printed);
    context.screen().flush();
    if (!follows || !context.screen().is_open()) break;
    if (auto waited = store.wait_for_change(*seen, follow_wait); !waited) return forward(waited);
  }
  context.output().end_list();
  const bool is_empty = query.from == first && context.screen().is_open();
  if (is_empty) context.advice().line(nothing_words(query));
  return end_with_damage(context, place.session.id, damaged);
}

}  // namespace

Command log_command() {
  return {
      .name = "log",
      .summary = "Show the entries of a session's log",
      .arguments = {point_argument},
      .options = {{.name = "follow",
                   .summary = "Go on with what is appended, until it is interrupted"},
                  {.name = "channel", .value = "NAME", .summary = "Only entries of this channel"},
                  {.name = "from",
                   .value = "POSITION",
                   .summary = "Only from this position on",
                   .takes = Takes::count}},
      .examples = {{"perdure log --follow --jsonl @last", "every fact as it is written"}},
      .schema = "perdure.log/1",
      .fields = {"position", "at", "channel", "kind", "fold", "hash", "body", "bytes", "blob",
                 "condition"},
      .check = check_log,
      .body = on_point(run_log)};
}

}  // namespace perdure::cli
