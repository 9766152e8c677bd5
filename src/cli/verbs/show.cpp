// One session on one screen: how it stands, who runs it, what it cost, what to do next.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/agent_source.hpp"
#include "context/pending_calls.hpp"
#include "context/sessions.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t mails_shown = 1000;

class Card {
 public:
  explicit Card(CommandContext& context) : context_(context) {}

  void fact(std::string_view name, Piece piece) {
    if (piece.text.empty()) return;
    context_.screen().line({{fmt::format("{:<10}", name), Ink::dim}, std::move(piece)});
  }
  void fact(std::string_view name, const std::string& text) { fact(name, Piece{text}); }

 private:
  CommandContext& context_;
};

std::string owner_text(CommandContext& context, const SessionSummary& row) {
  if (!row.holder) return {};
  return fmt::format("{} on {}, process {}, since {}{}", row.holder->worker.text(),
                     row.holder->host, row.holder->pid, context.when(row.holder->since),
                     row.holder->alive ? "" : " (gone)");
}

std::string lineage_text(const SessionSummary& row) {
  if (!row.parent) return {};
  return fmt::format("{} of {} at position {}",
                     row.parent->lineage == Lineage::fork ? "fork" : "child",
                     row.parent->session.text(), row.parent->position);
}

std::string imported_agent_text(const SessionSummary& row) {
  const auto theirs = imported_source_in(row.metadata);
  if (!theirs || source_in(row.metadata)) return "";
  return fmt::format("{}; so says the bundle it came out of, and it is not accepted",
                     source_words(*theirs));
}

std::string joined_tags(const SessionSummary& row) {
  return fmt::format("{}", fmt::join(row.tags, ", "));
}

struct Standings {
  SessionSummary row{};
  std::vector<PendingCall> pending{};
  std::size_t mails = 0;
  bool is_cost_known = false;
  std::int64_t unconfirmed = 0;
  bool has_messages = false;
};

// A fork may lie before the first message.
std::string next_command(const CommandContext& context, const Standings& standings) {
  const SessionSummary& row = standings.row;
  if (!standings.pending.empty()) return context.command("pending " + row.id.text());
  const ShownState standing = shown_state(row);
  const bool can_go_on = standing == ShownState::ready || standing == ShownState::interrupted ||
                         standing == ShownState::paused || standing == ShownState::waiting ||
                         standing == ShownState::needs_attention;
  if (!can_go_on) return context.command("timeline " + row.id.text());
  return context.command(
      fmt::format("resume {}{}", row.id.text(), standings.has_messages ? "" : " \"…\""));
}

// What cannot be read may have been said.
bool has_messages(Store& store, const SessionSummary& row) {
  if (row.tally.steps > 0) return true;
  const auto said = store.log().read(row.id, {.channel = "transcript", .limit = 1});
  return !said || !said->empty();
}

// Only the log says whether a model without a price answered; of what cannot be read nothing is known.
bool knows_cost(Store& store, const SessionSummary& row) {
  if (row.tally.tokens_in + row.tally.tokens_out == 0) return true;
  const auto state = read_state(store, row.id, {});
  return state && !has_unknown_cost(*state);
}

// Each entry of a budget carries the totals after it. A request that nobody waits for any more may have
// been paid for as well.
std::int64_t unconfirmed_of(Store& store, const SessionSummary& row) {
  const auto last =
      store.log().read(row.id, {.channel = "budget", .order = Order::newest_first, .limit = 100});
  if (!last) return 0;
  const auto intact = std::ranges::find(*last, Condition::intact, &Entry::condition);
  if (intact == last->end()) return 0;
  const auto entry = budget_entry_from_json(intact->kind, intact->body.bytes());
  if (!entry || !entry->after) return 0;
  const bool is_held = row.holder && row.holder->alive;
  if (is_held || entry->after->reserved == 0) return entry->after->unconfirmed;
  // A resume gives back what was reserved for a request that was not sent.
  const auto state = read_state(store, row.id, {});
  if (!state || !state->request) return entry->after->unconfirmed + entry->after->reserved;
  const Request& request = state->request->request;
  const auto is_unsent = is_known_unsent(store, request);
  const auto open = state->budget.reservations.find(request.reservation);
  const bool is_free = is_unsent && *is_unsent && open != state->budget.reservations.end();
  return entry->after->unconfirmed + entry->after->reserved - (is_free ? open->second.micros : 0);
}

// The runtime knows approvals only; that this one is a question, the tool says.
std::string because_text(const Standings& standings) {
  const bool is_question = standings.row.status == Status::waiting &&
                           standings.pending.size() == 1 &&
                           standings.pending.front().need == Need::answer;
  return is_question ? "it waits for an answer" : standings.row.wait_reason;
}

// What has ended may still have a call that nobody knows the end of.
Piece state_piece(const CommandContext& context, const SessionSummary& row) {
  const ShownState standing = shown_state(row);
  Piece piece = shown(standing, context.is_terminal());
  if (standing == ShownState::needs_attention && has_ended(row.status)) {
    piece.text += fmt::format("; the session is {}", to_string(row.status));
  }
  return piece;
}

void print_card(CommandContext& context, const Standings& standings) {
  const SessionSummary& row = standings.row;
  Card card(context);
  card.fact("session", {row.id.text(), Ink::bold});
  card.fact("title", row.title);
  card.fact("opening", row.opening);
  card.fact("state", state_piece(context, row));
  card.fact("because", because_text(standings));
  if (row.wake_at) card.fact("wakes", context.when(*row.wake_at));
  if (row.restored)
    card.fact("restored", "from a backup or a bundle: the original may have run since");
  card.fact("agent", imported_agent_text(row));
  card.fact("moved to", row.moved_to);
  card.fact("owner", owner_text(context, row));
  card.fact("lineage", lineage_text(row));
  card.fact("tags", joined_tags(row));
  card.fact("work", fmt::format("{}, {}, version {}, head {}",
                                counted(static_cast<std::uint64_t>(row.tally.turns), "turn"),
                                counted(static_cast<std::uint64_t>(row.tally.steps), "step"),
                                row.version, row.head));
  card.fact("tokens", fmt::format("{} in, {} out, {}{}", grouped(row.tally.tokens_in),
                                  grouped(row.tally.tokens_out),
                                  cost_words(row.tally.cost_micros, standings.is_cost_known),
                                  unconfirmed_words(standings.unconfirmed)));
  card.fact("created", context.when(row.created_at));
  card.fact("changed", context.when(row.updated_at));
  if (standings.mails > 0)
    card.fact("inbox", counted(standings.mails, "message") + " not taken up yet");
  for (const PendingCall& each : standings.pending) {
    const Call& call = each.call;
    Piece piece = shown(call.state, context.is_terminal());
    piece.text = fmt::format("{}: {} {} ({})", piece.text, call_name(call.session, call.position),
                             call.tool, to_string(call.effect));
    card.fact("call", std::move(piece));
  }
  card.fact("next", next_command(context, standings));
}

void write_document(CommandContext& context, const Standings& standings) {
  Json::Array calls;
  for (const PendingCall& each : standings.pending) calls.push_back(as_json(each.call));
  Json session = as_json(standings.row);
  session.set("totals", as_json(standings.row.tally, standings.is_cost_known));
  context.output().document("perdure.session/1", {{"session", std::move(session)},
                                                  {"pending", std::move(calls)},
                                                  {"inbox", standings.mails},
                                                  {"unconfirmed_micros", standings.unconfirmed}});
}

Result<Exit> run_show(CommandContext& context) {
  auto store = context.open();
  if (!store) return forward(store);
  auto row = find_session(**store, context.given().arguments.front());
  if (!row) return forward(row);
  auto pending = read_pending(**store, *row);
  if (!pending) return forward(pending);
  auto mails = (*store)->inbox().list(row->id, mails_shown);
  if (!mails) return forward(mails);
  const bool is_cost_known = knows_cost(**store, *row);
  const bool is_begun = has_messages(**store, *row);
  const std::int64_t unconfirmed = unconfirmed_of(**store, *row);
  const Standings standings{*std::move(row), *std::move(pending), mails->size(),
                            is_cost_known,   unconfirmed,         is_begun};
  write_document(context, standings);
  if (!context.output().is_json()) print_card(context, standings);
  return Exit::done;
}

}  // namespace

Command show_command() {
  return {.name = "show",
          .summary = "Show a session's status",
          .arguments = {session_argument},
          .opens_store = true,
          .examples = {{"perdure show @last", "the session that changed last"}},
          .schema = "perdure.session/1",
          .run = run_show};
}

}  // namespace perdure::cli
