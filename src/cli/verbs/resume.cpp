// A session taken up where it stopped, by whatever it was stopped.

#include <csignal>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/live_agent.hpp"
#include "live/outlook.hpp"
#include "live/picker.hpp"
#include "live/signal_watch.hpp"
#include "live/taken_up.hpp"
#include "live/turn_end.hpp"
#include "live/turn_events.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "place/reference.hpp"
#include "screen/screen.hpp"
#include "screen/words.hpp"
#include "verbs/live_options.hpp"
#include "verbs/values.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t sessions_offered = 500;

Choice choice_of(Desk& desk, const SessionSummary& row) {
  const std::string& title = row.title.empty() ? row.opening : row.title;
  const Piece state = shown(standing_of(row), true);
  return {.words = fmt::format("{} {} {} {}", row.id.text(), row.title, row.opening, state.text),
          .pieces = {
              {fmt::format("{:<17} ", state.text), state.ink},
              {fmt::format("{:<9}", relative(row.updated_at, desk.world().clock->now())), Ink::dim},
              {title.empty() ? row.id.text() : title}}};
}

// Sub-agents are resumed by those they work for.
Result<std::optional<SessionSummary>> pick_session(Desk& desk, Store& store, SignalWatch& signals) {
  auto page = store.sessions().list({.limit = sessions_offered});
  if (!page) return forward(page);
  std::vector<SessionSummary> rows = std::move(page->sessions);
  std::erase_if(rows, [](const SessionSummary& row) {
    return row.parent && row.parent->lineage == Lineage::child;
  });
  std::vector<Choice> choices;
  choices.reserve(rows.size());
  for (const SessionSummary& row : rows) choices.push_back(choice_of(desk, row));
  if (choices.empty()) return fail(ErrorCode::not_found, "there is no session to resume");
  const auto chosen = pick(desk, "Resume which session?", std::move(choices), signals);
  if (!chosen) return std::nullopt;
  return std::move(rows[*chosen]);
}

// Empty: a person was asked, and would not choose, or a signal came first.
Result<std::optional<SessionSummary>> session_to_resume(Desk& desk, Store& store,
                                                        SignalWatch& signals) {
  if (!desk.given().arguments.empty()) {
    return find_session(store, desk.given().arguments.front());
  }
  const World& world = desk.world();
  if (world.signals != nullptr && world.is_in_terminal && desk.talk().can_redraw()) {
    return pick_session(desk, store, signals);
  }
  return fail(ErrorCode::invalid_argument,
              "which session? perdure resume SES, or @last; perdure sessions lists them");
}

Result<std::optional<Message>> input_of(Desk& desk) {
  if (desk.given().arguments.size() < 2) return std::nullopt;
  const std::string& said = desk.given().arguments[1];
  auto prompt = said == "-" ? text_of_stdin(desk.world()) : said;
  if (!prompt) return forward(prompt);
  if (prompt->find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(ErrorCode::invalid_argument, "there is nothing in what it is to be told");
  }
  return user_says(*std::move(prompt));
}

// What is decided with the command line, before anything runs.
Result<void> prepare(Desk& desk, Session& session, bool has_input) {
  auto budget = dollars_option(desk.given(), "budget");
  if (!budget) return forward(budget);
  // Whoever began it died before its first message was recorded: there is nothing to go on with.
  if (!has_input && session.state().transcript.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("nothing was said in {} yet: {}", session.id().text(),
                            desk.command(fmt::format("resume {} \"…\"", session.id().text()))));
  }
  if (has_input && session.status() == Status::completed) {
    auto reopened = session.reopen(desk.world().user, "resumed with another message");
    if (!reopened) return reopened;
  }
  if (has_input && (session.status() == Status::cancelled || session.status() == Status::failed)) {
    return fail(
        ErrorCode::conflict,
        fmt::format("the session is {}, and takes no message: {} goes on from it",
                    to_string(session.status()), desk.command("fork " + session.id().text())));
  }
  if (!*budget) return {};
  return session.set_budget(*budget, desk.world().user, "said on the command line");
}

Result<Exit> go_on(Desk& desk, Store& store, const SessionSummary& row, SignalWatch& signals) {
  auto input = input_of(desk);
  if (!input) return forward(input);
  // Before it is taken over: what recovers is not left half-way.
  signals.hold();
  auto taken = take_up(desk, store, row);
  if (!taken && was_left(taken.error(), signals)) return exit_by(signals);
  if (!taken) return forward(taken);
  AgentSession& agent = taken->resumed.session;
  if (auto ready = prepare(desk, agent.session(), input->has_value()); !ready) {
    return forward(ready);
  }
  if (desk.given().has("jsonl")) {
    write_event(desk, "session", {{"session", row.id.text()}, {"title", row.title}});
    write_event(desk, "recovered", {{"recovered", recovery_json(*taken)}});
  }
  tell_recovery(desk, *taken);
  const LiveSession live{.store = store, .agent = agent, .signals = signals};
  const TurnEnd end = play_turn(desk, live, *std::move(input), true);
  return close_turn(desk, live, end, {{"recovered", recovery_json(*taken)}});
}

Result<Exit> run_resume(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  SignalWatch& signals = desk.signals();
  auto row = session_to_resume(desk, **store, signals);
  if (!row) return forward(row);
  if (!*row) return exit_by(signals);
  if (desk.given().has("dry-run")) return tell_outlook(desk, **store, **row);
  return go_on(desk, **store, **row, signals);
}

}  // namespace

Command resume_command() {
  Command command{
      .name = "resume",
      .summary = "Go on with a session where it stopped",
      .details =
          "Whatever ended the process that ran it, everything recorded is there: no answer that "
          "was "
          "paid for is bought again. Calls without an outcome are run again, asked about or left "
          "in doubt, as their tools allow; three lines say which. An unsafe call is never run "
          "again by itself.",
      .arguments = {{.name = "SES",
                     .summary = "The session",
                     .count = Argument::Count::maybe,
                     .by = Completes::session},
                    {.name = "PROMPT",
                     .summary = "What it is told now; -: read from stdin",
                     .count = Argument::Count::maybe}},
      .options = {{.name = "dry-run",
                   .summary = "Say what would run again; take nothing over, write nothing"}},
      .opens_store = true,
      .exits = {Exit::in_doubt, Exit::resting, Exit::unconfirmed, Exit::interrupted,
                Exit::terminated},
      .examples = {{"perdure resume @last", "the session that changed last"},
                   {"perdure resume ses_7k2m \"And order 4712?\"", "with another message"},
                   {"perdure resume ses_7k2m --dry-run", "what would run again"}},
      .schema = "perdure.run/1",
      .run = run_resume};
  for (Option& option : take_up_options()) command.options.push_back(std::move(option));
  for (Option& option : model_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace perdure::cli
