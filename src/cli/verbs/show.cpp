// One session on one screen: its status, who runs it, what it cost, what to do next.

#include <fmt/ranges.h>

#include "context/agent_source.hpp"
#include "context/calls.hpp"
#include "perdure/agent/agent.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t mails_shown = 1000;

void fact(CommandContext& context, std::string_view name, Piece piece) {
  if (piece.text.empty()) return;
  context.screen().line({{fmt::format("{:<10}", name), Ink::dim}, std::move(piece)});
}

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

struct Standings {
  SessionSummary row{};
  std::vector<PendingCall> pending{};
  std::size_t mails = 0;
  bool is_cost_known = false;
  std::optional<std::int64_t> unconfirmed{};  // Empty: the state cannot be read.
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

// A request that was given up may have been paid for as well. A resume gives back what was
// reserved for one that was not sent.
std::int64_t unconfirmed_of(Store& store, const SessionSummary& row, const State& state) {
  const BudgetTotals& totals = state.budget.totals;
  const bool is_held = row.holder && row.holder->alive;
  if (is_held || totals.reserved == 0) return totals.unconfirmed;
  std::int64_t unsent = 0;
  if (state.details->request) {
    const Request& request = state.details->request->request;
    const auto is_unsent = is_known_unsent(store, request);
    const auto open = state.budget.reservations.find(request.reservation);
    const bool is_free = is_unsent && *is_unsent && open != state.budget.reservations.end();
    if (is_free) unsent = open->second.micros;
  }
  return totals.unconfirmed + totals.reserved - unsent;
}

// The runtime knows approvals only; that this one is a question, the tool says.
std::string because_text(const Standings& standings) {
  const bool is_question = standings.row.status == Status::waiting &&
                           standings.pending.size() == 1 &&
                           standings.pending.front().need == Need::answer;
  return is_question ? "it waits for an answer" : standings.row.wait_reason;
}

// What has ended may still have a call whose outcome is unknown.
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
  fact(context, "session", {row.id.text(), Ink::bold});
  fact(context, "title", {row.title});
  fact(context, "opening", {row.opening});
  fact(context, "state", state_piece(context, row));
  fact(context, "because", {because_text(standings)});
  if (row.wake_at) fact(context, "wakes", {context.when(*row.wake_at)});
  if (row.restored)
    fact(context, "restored", {"from a backup or a bundle: the original may have run since"});
  fact(context, "agent", {imported_agent_text(row)});
  fact(context, "moved to", {row.moved_to});
  fact(context, "owner", {owner_text(context, row)});
  fact(context, "lineage", {lineage_text(row)});
  fact(context, "tags", {fmt::format("{}", fmt::join(row.tags, ", "))});
  fact(context, "work",
       {fmt::format("{}, {}, version {}, head {}",
                    counted(static_cast<std::uint64_t>(row.tally.turns), "turn"),
                    counted(static_cast<std::uint64_t>(row.tally.steps), "step"), row.version,
                    row.head)});
  fact(context, "tokens",
       {fmt::format("{} in, {} out, {}{}", grouped(row.tally.tokens_in),
                    grouped(row.tally.tokens_out),
                    cost_words(row.tally.cost_micros, standings.is_cost_known),
                    standings.unconfirmed ? unconfirmed_words(*standings.unconfirmed)
                                          : ", unconfirmed cost unknown")});
  fact(context, "created", {context.when(row.created_at)});
  fact(context, "changed", {context.when(row.updated_at)});
  if (standings.mails > 0)
    fact(context, "inbox", {counted(standings.mails, "message") + " not taken up yet"});
  for (const PendingCall& each : standings.pending) {
    const Call& call = each.call;
    Piece piece = shown(call.state, context.is_terminal());
    piece.text = fmt::format("{}: {} {} ({})", piece.text, call_name(call.session, call.position),
                             call.tool, to_string(call.effect));
    fact(context, "call", std::move(piece));
  }
  fact(context, "next", {next_command(context, standings)});
}

void write_document(CommandContext& context, const Standings& standings) {
  Json session = as_json(standings.row);
  session.set("totals", as_json(standings.row.tally, standings.is_cost_known));
  context.output().document(
      "perdure.session/1",
      {{"session", std::move(session)},
       {"pending",
        json_list(standings.pending, [](const PendingCall& each) { return as_json(each.call); })},
       {"inbox", standings.mails},
       {"unconfirmed_micros",
        standings.unconfirmed ? Json(*standings.unconfirmed) : Json(nullptr)}});
}

Result<Exit> run_show(CommandContext& context, Store& store, const SessionSummary& row) {
  auto pending = read_pending(store, row.id);
  if (!pending) return forward(pending);
  auto mails = store.inbox().list(row.id, mails_shown);
  if (!mails) return forward(mails);
  Standings standings{.row = row, .pending = *std::move(pending), .mails = mails->size()};
  // What cannot be read may have been said, and nothing is known of its cost.
  const auto state = read_state(store, row.id, {});
  standings.has_messages = !state || !state->transcript.empty() || !state->details->skipped.empty();
  standings.is_cost_known = state && !has_unknown_cost(*state);
  if (state) standings.unconfirmed = unconfirmed_of(store, row, *state);
  write_document(context, standings);
  print_card(context, standings);
  return Exit::done;
}

}  // namespace

Command show_command() {
  return {.name = "show",
          .summary = "Show a session's status",
          .arguments = {session_argument},
          .examples = {{"perdure show @last", "the session that changed last"}},
          .schema = "perdure.session/1",
          .body = on_session(run_show)};
}

}  // namespace perdure::cli
