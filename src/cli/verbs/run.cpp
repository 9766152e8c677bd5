// Starts a session: the agent of a file, or a model alone, and its prompt.

#include "context/agent_source.hpp"
#include "perdure/agent/agent.hpp"
#include "recovery/live_agent.hpp"
#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

struct Task {
  std::string file{};
  std::optional<std::string> prompt{};
};

// With --model alone the first word may be the prompt already.
Task task_of(CommandContext& context) {
  const std::vector<std::string>& words = context.given().arguments;
  Task task;
  std::size_t next = 0;
  const bool needs_file = !context.given().has("model");
  if (!words.empty() &&
      (needs_file || words.size() == 2 || names_agent_file(words[0], context.io().folder))) {
    task.file = words[next++];
  }
  if (next < words.size()) task.prompt = words[next];
  return task;
}

Result<std::string> prompt_of(CommandContext& context, const Task& task) {
  const ProcessIo& io = context.io();
  const bool reads = task.prompt ? *task.prompt == "-" : !io.is_in_terminal;
  auto prompt = reads ? text_of_stdin(io) : task.prompt.value_or("");
  if (!prompt || !is_blank(*prompt)) return prompt;
  return misuse(
      "no prompt given: perdure run AGENT.yaml \"…\", or - to read it from stdin; to talk with it: "
      "perdure chat AGENT.yaml");
}

void tell_session(CommandContext& context, const AgentSession& begun, const std::string& title) {
  const std::string id = begun.session().id().text();
  if (context.given().has("jsonl")) {
    write_event(context, "session", {{"session", id}, {"title", title}});
  }
  context.talk().line(
      {{"Session "},
       {id, Ink::bold},
       {title.empty() ? "" : "  " + title},
       {fmt::format("  (store: {})", shown_location(context.location())), Ink::dim}});
}

Result<Exit> run_run(CommandContext& context) {
  const Task task = task_of(context);
  if (task.file.empty() && !context.given().has("model")) {
    return misuse("which agent? perdure run AGENT.yaml \"…\", or perdure run --model M \"…\"");
  }
  AgentSource source = source_of(context.given(), task.file, context.io().folder);
  auto file = load_agent(source, context.io().environment);
  if (!file) return forward(file);
  auto prompt = prompt_of(context, task);
  if (!prompt) return forward(prompt);
  auto store = context.open_or_make();
  if (!store) return forward(store);
  auto agent = start_agent(context, **store, *file);
  if (!agent) return forward(agent);
  const Annotation annotation{.title = context.given().find("title").value_or(""),
                              .opening = opening_of(*prompt),
                              .tags = context.given().all("tag"),
                              .metadata = with_source("{}", source)};
  auto begun = (*agent)->begin({.annotation = annotation,
                                .budget_micros = budget_option(context.given()),
                                .input = user_says(*std::move(prompt))});
  if (!begun) return forward(begun);
  context.signals().hold();
  tell_session(context, *begun, *annotation.title);
  const TurnOutcome end = play_turn(context, **store, *begun, std::nullopt, true);
  return close_turn(context, begun->session(), end, {{"recovered", Json()}});
}

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .summary = "Begin a session: run an agent until it answers or has to wait",
      .details =
          "The session's id is printed on stderr, once it and the prompt are on disk. On a "
          "terminal the model's words come as they are said, with a line for each step; elsewhere "
          "stdout gets the answer alone. Whatever ends the process, perdure resume SES continues "
          "where it stopped. Ctrl-C asks the turn to stop and keeps what came so far; a second one "
          "leaves at once.",
      .arguments =
          {{.name = "AGENT",
            .summary = "An agent file; not needed with --model",
            .count = Argument::Count::maybe,
            .by = Completes::file},
           {.name = "PROMPT",
            .summary =
                "The message; with - or nothing it is read from stdin, unless that is a terminal",
            .count = Argument::Count::maybe}},
      .options = with_model_options(
          {{.name = "title", .value = "TEXT", .summary = "What people call the session"},
           {.name = "tag", .value = "K=V", .summary = "A tag; may be repeated", .repeats = true}}),
      .exits = {Exit::in_doubt, Exit::resting, Exit::interrupted, Exit::terminated},
      .examples = {{"perdure run refunds.yaml \"Refund order 4711\"", "an agent of a file"},
                   {"perdure run --model claude-sonnet-5-5 \"Say hello\"", "a model alone"},
                   {"git diff | perdure run reviewer.yaml", "the prompt comes from a pipe"}},
      .schema = "perdure.run/1",
      .body = {.run = run_run, .opens_store = true}};
}

}  // namespace perdure::cli
