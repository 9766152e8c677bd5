// Goes by the rules of those that would do it (foresight.hpp).

#include "recovery/outlook.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/call_policy.hpp"
#include "context/agent_source.hpp"
#include "context/call_phrases.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_factory.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "recovery/left_open.hpp"
#include "recovery/live_agent.hpp"
#include "recovery/resume_session.hpp"
#include "screen/display.hpp"
#include "screen/table.hpp"

namespace perdure::cli {
namespace {

// What is not as it was in the session's agent, and what the agent says about that.
struct Change {
  std::vector<std::string> parts{};
  OnChange rule = OnChange::ask;
};

struct Outlook {
  std::vector<LeftCall> left{};
  bool asks_model_again = false;
  bool owes_an_answer = false;  ///< Somebody, or a tool, had the last word.
  Change change{};
  std::string agent_error{};  ///< Why nobody can tell whether the agent has changed.
  std::size_t inbox = 0;
};

// The session's agent as its file is now.
struct AgentNow {
  AgentFile file{};
  AgentSpec spec{};
};

Result<AgentNow> read_agent(CommandContext& context, const SessionSummary& row) {
  auto source = source_for(context, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, context.io().environment);
  if (!file) return forward(file);
  const ProcessIo& io = context.io();
  auto spec =
      make_agent_spec(*file, {.environment = io.environment, .state_folder = state_folder(io)},
                      {.clock = *io.clock, .ids = *io.ids});
  if (!spec) return forward(spec);
  return AgentNow{*std::move(file), *std::move(spec)};
}

Change change_of(const AgentFile& file, const State& state) {
  Change change{.rule = file.on_change};
  if (!state.origin || state.origin->agent_digest.empty()) return change;
  change.parts = changed_parts(state.origin->agent_digest, agent_digest(file));
  return change;
}

Result<Outlook> look_ahead(CommandContext& context, Store& store, const SessionSummary& row) {
  constexpr std::size_t mails_counted = 1000;
  auto state = read_state(store, row.id, {});
  if (!state) return forward(state);
  // What is open can be told without the agent, if not as surely.
  auto agent = read_agent(context, row);
  const Policy policy = agent ? make_policy(agent->spec) : Policy{};
  std::optional<Foresight> foresight;
  if (agent) foresight.emplace(agent->spec.tools.tools(), policy, context.io().clock->now());
  auto left = read_left_calls(store, row.id, *state, foresight ? &*foresight : nullptr);
  if (!left) return forward(left);
  auto mails = store.inbox().list(row.id, mails_counted);
  if (!mails) return forward(mails);
  auto is_lost = has_lost_a_response(store, row, *state);
  if (!is_lost) return forward(is_lost);
  Outlook outlook{.left = *std::move(left),
                  .asks_model_again = *is_lost,
                  .owes_an_answer = !state->transcript.empty() &&
                                    state->transcript.back().message.role == Role::user &&
                                    !state->request,
                  .inbox = mails->size()};
  if (agent) {
    outlook.change = change_of(agent->file, *state);
  } else {
    outlook.agent_error = agent.error().message;
  }
  return outlook;
}

bool is_in_use(const SessionSummary& row) { return row.holder && row.holder->alive; }

std::string_view words_for(const LeftCall& left) {
  const bool is_made = left.call.state != CallState::intended;
  switch (left.fate) {
    case Fate::runs:
      return "is made: it was not yet";
    case Fate::replays:
      return "is not made: it was done, and its result is given";
    case Fate::runs_again:
      return "runs again";
    case Fate::asked_first:
      return "is asked whether it took effect";
    case Fate::waits:
      if (is_made) return "is not run: somebody has to decide";
      return asks_people(left.call.tool) ? "is not run: somebody has to answer"
                                         : "is not run: somebody has to allow it";
    case Fate::told:
      return "is not run: the model is told that nobody knows";
    case Fate::refused:
      return "is not made: it is refused, or its tool is gone";
  }
  return "";
}

std::string_view words_for(OnChange rule, CommandContext& context) {
  switch (rule) {
    case OnChange::go_on:
      return "it goes on as it is now";
    case OnChange::ask:
      return context.given().has("accept-changes") ? "that is accepted"
                                                   : "it needs --accept-changes";
    case OnChange::refuse:
      return "its file refuses to go on; resume it with --agent FILE, as the file was";
  }
  return "";
}

void print_outlook(CommandContext& context, const SessionSummary& row, const Outlook& outlook) {
  if (is_in_use(row)) {
    context.screen().line(
        {{fmt::format("A process runs it now (pid {} on {}); resume would wait for "
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
    table.add({{shown_call(context, left.call)},
               {left.call.tool},
               {std::string(to_string(left.call.effect))},
               shown(left.call.state, context.is_terminal()),
               {std::string(words_for(left))}});
  }
  if (table.empty()) {
    context.screen().line("No call is open: none would run again.");
  } else {
    table.print(context.screen());
  }
  if (outlook.asks_model_again) {
    context.screen().line("The model is asked again: its answer was lost, and counts as spent.");
  }
  if (outlook.owes_an_answer) context.screen().line("The model is asked: it has not answered yet.");
  if (outlook.inbox > 0) {
    context.screen().line(fmt::format("The inbox has {}.", counted(outlook.inbox, "message")));
  }
  if (!outlook.change.parts.empty()) {
    context.screen().line(fmt::format("The agent has changed ({}): {}.",
                                      fmt::join(outlook.change.parts, ", "),
                                      words_for(outlook.change.rule, context)));
  }
  if (!outlook.agent_error.empty()) {
    context.screen().line(
        {{fmt::format("It cannot be resumed as it is: {}", outlook.agent_error), Ink::yellow}});
  }
}

}  // namespace

Result<Exit> tell_outlook(CommandContext& context, Store& store, const SessionSummary& row) {
  auto outlook = look_ahead(context, store, row);
  if (!outlook) return forward(outlook);
  Json::Array left;
  for (const LeftCall& call : outlook->left) left.push_back(as_json(call));
  Json::Array changed;
  for (const std::string& part : outlook->change.parts) changed.emplace_back(part);
  context.output().document("perdure.resume_plan/1",
                            {{"session", row.id.text()},
                             {"left", std::move(left)},
                             {"asks_model_again", outlook->asks_model_again},
                             {"changed", std::move(changed)},
                             {"agent_error", outlook->agent_error},
                             {"in_use", is_in_use(row)},
                             {"inbox", outlook->inbox}});
  if (!context.output().is_json()) print_outlook(context, row, *outlook);
  return Exit::done;
}

}  // namespace perdure::cli
