// A session taken up where it stopped, by whatever it was stopped.

#include "perdure/agent/agent.hpp"
#include "recovery/live_agent.hpp"
#include "recovery/terminal_input.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t sessions_offered = 500;

Choice choice_of(CommandContext& context, const SessionSummary& row) {
  const std::string& title = title_of(row);
  const Piece state = shown(shown_state(row), true);
  return {.words = fmt::format("{} {} {} {}", row.id.text(), row.title, row.opening, state.text),
          .pieces = {
              {fmt::format("{:<17} ", state.text), state.ink},
              {fmt::format("{:<9}", relative(row.updated_at, context.io().clock->now())), Ink::dim},
              {title.empty() ? row.id.text() : title}}};
}

// Sub-agents are resumed by those they work for.
Result<std::optional<SessionSummary>> pick_session(CommandContext& context, Store& store) {
  auto page = store.sessions().list({.limit = sessions_offered});
  if (!page) return forward(page);
  std::vector<SessionSummary> rows = std::move(page->sessions);
  std::erase_if(rows, [](const SessionSummary& row) {
    return row.parent && row.parent->lineage == Lineage::child;
  });
  std::vector<Choice> choices;
  choices.reserve(rows.size());
  for (const SessionSummary& row : rows) choices.push_back(choice_of(context, row));
  if (choices.empty()) return fail(ErrorCode::not_found, "there is no session to resume");
  const auto chosen = pick(context, "Resume which session?", std::move(choices));
  if (!chosen) return std::nullopt;
  return std::move(rows[*chosen]);
}

// Empty: a person was asked, and would not choose, or a signal came first.
Result<std::optional<SessionSummary>> session_to_resume(CommandContext& context, Store& store) {
  if (!context.given().arguments.empty()) {
    return find_session(store, context.given().arguments.front());
  }
  return pick_session(context, store);
}

// A person at a terminal may choose the session.
Result<void> check_resume(CommandContext& context) {
  const auto& arguments = context.given().arguments;
  const ProcessIo& io = context.io();
  const bool can_pick = io.signals != nullptr && io.is_in_terminal && context.talk().can_redraw();
  if (arguments.empty() && !can_pick) {
    return misuse("which session? perdure resume SES, or @last; perdure sessions lists them");
  }
  const bool is_read = arguments.size() > 1 && arguments[1] != "-";
  return is_read && is_blank(arguments[1]) ? misuse("the message is empty") : Result<void>();
}

Result<std::optional<Message>> input_of(CommandContext& context) {
  if (context.given().arguments.size() < 2) return std::nullopt;
  const std::string& said = context.given().arguments[1];
  auto prompt = said == "-" ? text_of_stdin(context.io()) : said;
  if (!prompt) return forward(prompt);
  if (is_blank(*prompt)) return misuse("the message is empty");
  return user_says(*std::move(prompt));
}

// What is decided with the command line, before anything runs.
Result<void> prepare(CommandContext& context, Session& session, bool has_input) {
  // The process that started it died before its first message was recorded: nothing to continue.
  if (!has_input && session.state().transcript.empty()) {
    return misuse(
        fmt::format("nothing was said in {} yet: {}", session.id().text(),
                    context.command(fmt::format("resume {} \"…\"", session.id().text()))));
  }
  if (has_input && session.status() == Status::completed) {
    auto reopened = session.reopen(context.io().user, "resumed with another message");
    if (!reopened) return reopened;
  }
  if (has_input && (session.status() == Status::cancelled || session.status() == Status::failed)) {
    return fail(
        ErrorCode::conflict,
        fmt::format("the session is {}, and takes no message: {} continues from it",
                    to_string(session.status()), context.command("fork " + session.id().text())));
  }
  const auto budget = budget_option(context.given());
  if (!budget) return {};
  return session.set_budget(budget, context.io().user, "said on the command line");
}

Result<Exit> go_on(CommandContext& context, Store& store, const SessionSummary& row) {
  auto input = input_of(context);
  if (!input) return forward(input);
  SignalWatch& signals = context.signals();
  // Before it is taken over: what recovers is not left half-way.
  signals.hold();
  auto taken = resume_session(context, store, row);
  if (!taken) return exit_by(signals, taken.error());
  AgentSession& agent = taken->resumed.session;
  if (auto ready = prepare(context, agent.session(), input->has_value()); !ready) {
    return forward(ready);
  }
  if (context.given().has("jsonl")) {
    write_event(context, "session", {{"session", row.id.text()}, {"title", row.title}});
    write_event(context, "recovered", {{"recovered", recovery_json(*taken)}});
  }
  tell_recovery(context, *taken);
  const TurnOutcome end = play_turn(context, store, agent, *std::move(input), true);
  return close_turn(context, agent.session(), end, {{"recovered", recovery_json(*taken)}});
}

Result<Exit> run_resume(CommandContext& context, Store& store) {
  auto row = session_to_resume(context, store);
  if (!row) return forward(row);
  if (!*row) return exit_by(context.signals());
  if (context.given().has("dry-run")) return tell_plan(context, store, **row);
  return go_on(context, store, **row);
}

}  // namespace

Command resume_command() {
  return {.name = "resume",
          .summary = "Resume a session where it stopped",
          .details =
              "Whatever ended the process that ran it, everything recorded is there: no answer "
              "that was paid for is bought again. Calls without an outcome are run again, asked "
              "about or left in doubt, as their tools allow; three lines say which. An unsafe call "
              "is never run again by itself.",
          .arguments = {{.name = "SES",
                         .summary = "The session",
                         .count = Argument::Count::maybe,
                         .by = Completes::session},
                        {.name = "PROMPT",
                         .summary = "The next message; - reads stdin",
                         .count = Argument::Count::maybe}},
          .options = with_model_options(with_take_up_options(
              {{.name = "dry-run",
                .summary = "Say what would run again; take nothing over, write nothing"}})),
          .exits = {Exit::in_doubt, Exit::resting, Exit::unconfirmed, Exit::interrupted,
                    Exit::terminated},
          .examples = {{"perdure resume @last", "the session that changed last"},
                       {"perdure resume ses_7k2m \"And order 4712?\"", "with another message"},
                       {"perdure resume ses_7k2m --dry-run", "what would run again"}},
          .schema = "perdure.run/1",
          .check = check_resume,
          .body = on_store(run_resume)};
}

}  // namespace perdure::cli
