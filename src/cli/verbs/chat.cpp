// A chat as a verb: with whom it is.

#include "live/chat.hpp"

#include <utility>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/agent_source.hpp"
#include "live/signal_watch.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "place/path.hpp"
#include "place/reference.hpp"
#include "verbs/live_options.hpp"
#include "verbs/values.hpp"

namespace perdure::cli {
namespace {

Result<void> start_chat(Desk& desk, Store& store, Chat& chat) {
  const auto& words = desk.given().arguments;
  const bool is_file = !words.empty() && names_agent_file(words.front(), desk.world().folder);
  if (is_file || words.empty()) {
    return chat.prepare(source_of(desk.given(), is_file ? words.front() : "", desk.world().folder));
  }
  auto row = find_session(store, words.front());
  if (!row) return forward(row);
  return chat.take_up(*row);
}

Result<Exit> run_chat(Desk& desk) {
  if (!desk.world().is_in_terminal || !desk.world().is_err_terminal) {
    return fail(
        ErrorCode::invalid_argument,
        "a chat needs a terminal; in a script use perdure run AGENT.yaml PROMPT, then perdure "
        "resume SES PROMPT");
  }
  if (desk.given().arguments.empty() && !desk.given().has("model")) {
    return fail(ErrorCode::invalid_argument,
                "with whom? perdure chat AGENT.yaml, perdure chat SES, or perdure chat --model M");
  }
  auto store = desk.open_or_make();
  if (!store) return forward(store);
  Chat chat(desk, **store);
  auto started = start_chat(desk, **store, chat);
  if (!started && was_left(started.error(), desk.signals())) return exit_by(desk.signals());
  if (!started) return forward(started);
  desk.signals().hold();
  return chat.talk();
}

}  // namespace

Command chat_command() {
  Command command{
      .name = "chat",
      .summary = "Talk with an agent, line by line",
      .details =
          "Each line is a turn. The session is begun with the first line, and everything said is "
          "kept: leave when you like, perdure chat SES goes on. Ctrl-C stops the turn and keeps "
          "what came so far; a second one leaves. While the agent asks a question, a line is its "
          "answer; a call that waits for approval is let through by yes or /approve, or kept back "
          "by no or /deny REASON. /help lists what else can be typed.",
      .arguments = {{.name = "WITH",
                     .summary = "An agent file, or a session; not needed with --model",
                     .count = Argument::Count::maybe,
                     .by = Completes::session_or_file}},
      .options = {{.name = "title", .value = "TEXT", .summary = "What people call the session"}},
      .opens_store = true,
      .exits = {Exit::unconfirmed, Exit::interrupted, Exit::terminated},
      .examples = {{"perdure chat refunds.yaml", "with the agent of a file"},
                   {"perdure chat @last", "go on with the session that changed last"}},
      .run = run_chat};
  for (Option& option : take_up_options()) command.options.push_back(std::move(option));
  for (Option& option : model_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace perdure::cli
