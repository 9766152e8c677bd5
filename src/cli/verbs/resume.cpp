// A session taken up where it stopped, by whatever it was stopped.

#include <algorithm>
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
#include "live/agent_source.hpp"
#include "live/call_words.hpp"
#include "live/left_open.hpp"
#include "live/live_agent.hpp"
#include "live/picker.hpp"
#include "live/signal_watch.hpp"
#include "live/taken_up.hpp"
#include "live/turn_events.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/on_change.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "place/reference.hpp"
#include "screen/screen.hpp"
#include "screen/table.hpp"
#include "screen/words.hpp"
#include "verbs/live_options.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t sessions_offered = 500;

Choice choice_of(Desk& desk, const SessionSummary& row) {
  const std::string& title = row.title.empty() ? row.opening : row.title;
  const Piece state = shown(standing_of(row), true);
  return {.words = fmt::format("{} {} {} {}", row.id.text(), row.title, row.opening, state.text),
          .pieces = {
              {fmt::format("{:<17}", state.text), state.ink},
              {fmt::format("{:<9}", relative(row.updated_at, desk.world().clock->now())), Ink::dim},
              {title.empty() ? row.id.text() : title}}};
}

// Sub-agents are resumed by those they work for.
Result<std::optional<SessionSummary>> pick_session(Desk& desk, Store& store) {
  auto page = store.sessions().list({.limit = sessions_offered});
  if (!page) return forward(page);
  std::vector<SessionSummary> rows = std::move(page->sessions);
  std::erase_if(rows, [](const SessionSummary& row) {
    return row.parent && row.parent->lineage == Lineage::child;
  });
  std::vector<Choice> choices;
  for (const SessionSummary& row : rows) choices.push_back(choice_of(desk, row));
  if (choices.empty()) return fail(ErrorCode::not_found, "there is no session to resume");
  const auto chosen = pick(desk, "Resume which session?", std::move(choices));
  if (!chosen) return std::nullopt;
  return std::move(rows[*chosen]);
}

// Empty: a person was asked, and would not choose.
Result<std::optional<SessionSummary>> session_to_resume(Desk& desk, Store& store) {
  if (!desk.given().arguments.empty()) {
    return find_session(store, desk.given().arguments.front());
  }
  const World& world = desk.world();
  if (world.catches_signals && world.is_in_terminal && desk.talk().can_redraw()) {
    return pick_session(desk, store);
  }
  return fail(ErrorCode::invalid_argument,
              "which session? perdure resume SES, or @last; perdure sessions lists them");
}

Result<std::optional<Message>> input_of(Desk& desk) {
  if (desk.given().arguments.size() < 2) return std::nullopt;
  std::string prompt = desk.given().arguments[1];
  if (prompt == "-") prompt = desk.world().read_input ? desk.world().read_input() : "";
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(ErrorCode::invalid_argument, "there is nothing in what it is to be told");
  }
  return user_says(std::move(prompt));
}

// What is not as it was in the session's agent, and what the agent says about that.
struct Change {
  std::vector<std::string> parts{};
  OnChange rule = OnChange::ask;
};

struct Outlook {
  std::vector<LeftCall> left{};
  bool asks_model_again = false;
  Change change{};
  std::string agent_error{};  ///< Why nobody can tell whether the agent has changed.
  std::size_t inbox = 0;
};

// The session's agent as its file is now.
struct AgentNow {
  AgentFile file{};
  Toolbox tools{};
};

Result<AgentNow> read_agent(Desk& desk, const SessionSummary& row) {
  auto source = source_for(desk, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, desk.world().environment);
  if (!file) return forward(file);
  auto tools = make_toolbox(
      *file, {.environment = desk.world().environment, .state_folder = state_folder(desk.world())});
  if (!tools) return forward(tools);
  return AgentNow{*std::move(file), *std::move(tools)};
}

Change change_of(const AgentFile& file, const State& state) {
  Change change{.rule = file.on_change};
  if (!state.origin || state.origin->agent_digest.empty()) return change;
  change.parts = changed_parts(state.origin->agent_digest, agent_digest(file));
  return change;
}

// A request that was written ahead of calls without an outcome was not made yet: it would have told
// the model what they came to. One of a fork's parent is for the parent to ask about.
bool has_lost_a_response(const SessionSummary& row, const State& state,
                         const std::vector<LeftCall>& left) {
  if (!state.request) return false;
  if (row.parent && row.parent->lineage == Lineage::fork &&
      state.request->position <= row.parent->position) {
    return false;
  }
  return std::ranges::none_of(left, [&](const LeftCall& each) {
    const auto open = state.open_calls.find(each.call.position);
    return open != state.open_calls.end() && !open->second.is_told;
  });
}

Result<Outlook> look_ahead(Desk& desk, Store& store, const SessionSummary& row) {
  constexpr std::size_t mails_counted = 1000;
  auto state = read_state(store, row.id, {});
  if (!state) return forward(state);
  // What is open can be told without the agent, if not as surely.
  auto agent = read_agent(desk, row);
  std::optional<Foresight> foresight;
  if (agent)
    foresight.emplace(agent->tools.tools(), agent->file.on_doubt, desk.world().clock->now());
  auto left = read_left_calls(store, row.id, *state, foresight ? &*foresight : nullptr);
  if (!left) return forward(left);
  auto mails = store.inbox().list(row.id, mails_counted);
  if (!mails) return forward(mails);
  const bool is_lost = has_lost_a_response(row, *state, *left);
  Outlook outlook{.left = *std::move(left), .asks_model_again = is_lost, .inbox = mails->size()};
  if (agent) {
    outlook.change = change_of(agent->file, *state);
  } else {
    outlook.agent_error = agent.error().message;
  }
  return outlook;
}

bool is_in_use(const SessionSummary& row) { return row.holder && row.holder->alive; }

std::string_view words_for(Fate fate) {
  switch (fate) {
    case Fate::runs:
      return "is made: it was not yet";
    case Fate::runs_again:
      return "runs again";
    case Fate::asked_first:
      return "is asked whether it took effect";
    case Fate::waits:
      return "is not run: somebody has to decide";
    case Fate::told:
      return "is not run: the model is told that nobody knows";
    case Fate::refused:
      return "is not made: its tool is gone";
  }
  return "";
}

std::string_view words_for(OnChange rule, Desk& desk) {
  switch (rule) {
    case OnChange::go_on:
      return "it goes on as it is now";
    case OnChange::ask:
      return desk.given().has("accept-changes") ? "that is accepted" : "it needs --accept-changes";
    case OnChange::refuse:
      return "its file refuses to go on; resume it with --agent FILE, as the file was";
  }
  return "";
}

void print_outlook(Desk& desk, const SessionSummary& row, const Outlook& outlook) {
  if (is_in_use(row)) {
    desk.screen().line({{fmt::format("A process runs it now (pid {} on {}); resume would wait for "
                                     "it with --wait, or fail.",
                                     row.holder->pid, row.holder->host),
                         Ink::yellow}});
  }
  Table table({{.heading = "CALL"},
               {.heading = "TOOL", .least = 8},
               {.heading = "EFFECT"},
               {.heading = "STATE"},
               {.heading = "ON RESUME", .least = 10}});
  for (const LeftCall& left : outlook.left) {
    table.add({{shown_call(desk, left.call)},
               {left.call.tool},
               {std::string(to_string(left.call.effect))},
               shown(left.call.state, desk.is_terminal()),
               {std::string(words_for(left.fate))}});
  }
  if (table.empty()) {
    desk.screen().line("No call is open: none would run again.");
  } else {
    table.print(desk.screen());
  }
  if (outlook.asks_model_again) {
    desk.screen().line("The model is asked again: its answer was lost, and counts as spent.");
  }
  if (outlook.inbox > 0) {
    desk.screen().line(fmt::format("The inbox has {}.", counted(outlook.inbox, "message")));
  }
  if (!outlook.change.parts.empty()) {
    desk.screen().line(fmt::format("The agent has changed ({}): {}.",
                                   fmt::join(outlook.change.parts, ", "),
                                   words_for(outlook.change.rule, desk)));
  }
  if (!outlook.agent_error.empty()) {
    desk.screen().line(
        {{fmt::format("It cannot be resumed as it is: {}", outlook.agent_error), Ink::yellow}});
  }
}

// Takes no lease, writes nothing.
Result<Exit> dry_run(Desk& desk, Store& store, const SessionSummary& row) {
  auto outlook = look_ahead(desk, store, row);
  if (!outlook) return forward(outlook);
  Json::Array left;
  for (const LeftCall& call : outlook->left) left.push_back(as_json(call));
  Json::Array changed;
  for (const std::string& part : outlook->change.parts) changed.emplace_back(part);
  desk.output().document("perdure.resume_plan/1", {{"session", row.id.text()},
                                                   {"left", std::move(left)},
                                                   {"asks_model_again", outlook->asks_model_again},
                                                   {"changed", std::move(changed)},
                                                   {"agent_error", outlook->agent_error},
                                                   {"in_use", is_in_use(row)},
                                                   {"inbox", outlook->inbox}});
  if (!desk.output().is_json()) print_outlook(desk, row, *outlook);
  return Exit::done;
}

// What is decided with the command line, before anything runs.
Result<void> prepare(Desk& desk, Session& session, bool has_input) {
  auto budget = dollars_option(desk.given(), "budget");
  if (!budget) return forward(budget);
  // Whoever began it died before its first message was recorded: there is nothing to go on with.
  if (!has_input && session.state().transcript.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("nothing was said in {} yet: perdure resume {} \"…\"",
                            session.id().text(), session.id().text()));
  }
  if (has_input && session.status() == Status::completed) {
    auto reopened = session.reopen(desk.world().user, "resumed with another message");
    if (!reopened) return reopened;
  }
  if (has_input && (session.status() == Status::cancelled || session.status() == Status::failed)) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}, and takes no message: perdure fork {} goes on from "
                            "it",
                            to_string(session.status()), session.id().text()));
  }
  if (!*budget) return {};
  return session.set_budget(**budget, desk.world().user, "said on the command line");
}

Result<Exit> go_on(Desk& desk, Store& store, const SessionSummary& row, SignalWatch& signals) {
  auto input = input_of(desk);
  if (!input) return forward(input);
  auto taken = take_up(desk, store, row);
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
  SignalWatch signals(desk.world().catches_signals);
  auto row = session_to_resume(desk, **store);
  if (!row) return forward(row);
  if (!*row) return Exit::interrupted;
  if (desk.given().has("dry-run")) return dry_run(desk, **store, **row);
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
