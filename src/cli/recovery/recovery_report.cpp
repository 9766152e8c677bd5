// One set of decisions for all of it (perdure/runtime/runtime.hpp): a dry run prints the plan that a
// resume would make, and a resume prints the plan that it made.

#include "recovery/recovery_report.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/call_policy.hpp"
#include "command/command.hpp"
#include "context/agent_source.hpp"
#include "context/call_phrases.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "recovery/live_agent.hpp"
#include "recovery/resume_session.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/screen.hpp"
#include "screen/table.hpp"

namespace perdure::cli {
namespace {

// What is not as it was in the session's agent, and what the agent says about that.
struct Change {
  std::vector<std::string> parts{};
  OnChange rule = OnChange::ask;
};

// What a resume would find.
struct DryRun {
  RecoveryPlan plan{};
  bool owes_an_answer = false;  ///< A person, or a tool, had the last word.
  Change change{};
  std::string agent_error{};  ///< Why it is not known whether the agent has changed.
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

Result<DryRun> look_ahead(CommandContext& context, Store& store, const SessionSummary& row) {
  constexpr std::size_t mails_counted = 1000;
  auto state = read_state(store, row.id, {});
  if (!state) return forward(state);
  // What is open can be told without the agent, if not as surely.
  auto agent = read_agent(context, row);
  const Policy policy = agent ? policy_of(agent->spec) : Policy{};
  auto plan = plan_recovery(store, row, *state,
                            {.tools = agent ? &agent->spec.tools.tools() : nullptr,
                             .policy = policy,
                             .now = context.io().clock->now()});
  if (!plan) return forward(plan);
  auto mails = store.inbox().list(row.id, mails_counted);
  if (!mails) return forward(mails);
  DryRun run{.plan = *std::move(plan),
             .owes_an_answer = !state->transcript.empty() &&
                               state->transcript.back().message.role == Role::user &&
                               !state->request,
             .inbox = mails->size()};
  if (agent) {
    run.change = change_of(agent->file, *state);
  } else {
    run.agent_error = agent.error().message;
  }
  return run;
}

bool is_in_use(const SessionSummary& row) { return row.holder && row.holder->alive; }

// A call that was not made yet is in no doubt.
bool is_made(const PlannedCall& planned) { return planned.call.state != CallState::intended; }

std::string_view words_for(const PlannedCall& planned) {
  switch (planned.action) {
    case CallAction::run:
      return "is made: it was not yet";
    case CallAction::replay:
      return "is not made: it was done, and its result is given";
    case CallAction::run_again:
      return "runs again";
    case CallAction::verify:
    case CallAction::settle:
      return "is asked whether it took effect";
    case CallAction::wait:
    case CallAction::ask_approval:
    case CallAction::ask:
      if (is_made(planned)) return "is not run: somebody has to decide";
      return asks_people(planned.call.tool) ? "is not run: somebody has to answer"
                                            : "is not run: somebody has to allow it";
    case CallAction::tell_model:
      return "is not run: the model is told that nobody knows";
    case CallAction::refuse:
    case CallAction::give_up:
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

void print_plan(CommandContext& context, const SessionSummary& row, const DryRun& run) {
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
  for (const PlannedCall& left : run.plan.calls) {
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
  if (run.plan.asks_model_again) {
    context.screen().line("The model is asked again: its answer was lost, and counts as spent.");
  }
  if (run.owes_an_answer) context.screen().line("The model is asked: it has not answered yet.");
  if (run.inbox > 0) {
    context.screen().line(fmt::format("The inbox has {}.", counted(run.inbox, "message")));
  }
  if (!run.change.parts.empty()) {
    context.screen().line(fmt::format("The agent has changed ({}): {}.",
                                      fmt::join(run.change.parts, ", "),
                                      words_for(run.change.rule, context)));
  }
  if (!run.agent_error.empty()) {
    context.screen().line(
        {{fmt::format("It cannot be resumed as it is: {}", run.agent_error), Ink::yellow}});
  }
}

std::function<bool(const PlannedCall&)> has(CallAction action) {
  return [action](const PlannedCall& planned) { return planned.action == action; };
}

void tell_again(CommandContext& context, const ResumedSession& taken) {
  const RecoveryPlan& plan = taken.resumed.report.plan;
  std::string line;
  const auto add = [&](const std::string& names, std::string_view how) {
    if (names.empty()) return;
    line += fmt::format("{}{}{}", line.empty() ? "" : "; ", names, how);
  };
  if (taken.resumed.report.lost_a_response) {
    add("the model", ", whose answer was lost, is asked again");
  }
  add(names_of(plan.calls, has(CallAction::run_again)), "");
  add(names_of(plan.calls, has(CallAction::verify)), " is first asked whether it took effect");
  context.talk().line({{"Run again: ", Ink::dim}, {line.empty() ? "nothing." : line + "."}});
  const std::string first = names_of(plan.calls, has(CallAction::run));
  if (first.empty()) return;
  context.talk().line({{"Run now:   ", Ink::dim}, {first + ", for the first time."}});
}

// What cannot be read is missing in what the model is told; whoever goes on should know.
void tell_damage(CommandContext& context, const State& state) {
  std::vector<Position> places;
  for (const Skipped& skipped : state.skipped) {
    if (skipped.reason == SkipReason::damaged) places.push_back(skipped.position);
  }
  if (places.empty()) return;
  context.talk().line(
      {{fmt::format("Damaged:   {}, at {}; it goes on without. {} says more.",
                    places.size() == 1 ? "1 entry" : fmt::format("{} entries", places.size()),
                    fmt::join(places, ", "), context.command("check")),
        Ink::red}});
}

void tell_not_made(CommandContext& context, const RecoveryPlan& plan) {
  for (const PlannedCall& planned : plan.calls) {
    if (is_made(planned) || !waits(planned)) continue;
    context.talk().line(
        {{"Waits:     ", Ink::dim},
         {fmt::format("{} for {}: {}", planned.call.tool,
                      asks_people(planned.call.tool) ? "an answer" : "approval",
                      allow_command(context, planned.call.tool, shown_call(context, planned.call))),
          Ink::yellow}});
  }
  const std::string done = names_of(plan.calls, has(CallAction::replay));
  if (!done.empty()) {
    context.talk().line(
        {{"Replayed:  ", Ink::dim}, {done + "; done before. The model gets its result."}});
  }
  const std::string refused = names_of(plan.calls, [](const PlannedCall& planned) {
    return planned.action == CallAction::refuse || planned.action == CallAction::give_up;
  });
  if (refused.empty()) return;
  context.talk().line({{"Refused:   ", Ink::dim}, {refused + "; not made. The model is told."}});
}

void tell_doubt(CommandContext& context, const RecoveryPlan& plan) {
  const std::string told = names_of(plan.calls, has(CallAction::tell_model));
  if (!told.empty()) {
    context.talk().line(
        {{"In doubt:  ", Ink::dim}, {told + "; not run again. The model is told."}});
  }
  for (const Call& call : plan.inherited) {
    context.talk().line(
        {{"In doubt:  ", Ink::dim},
         {fmt::format("{} ({}) in the session it was forked from; not run here. Settle "
                      "it there: {}",
                      call.tool, to_string(call.effect),
                      settle_command(context, shown_call(context, call))),
          Ink::yellow}});
  }
  const auto is_doubtful = [](const PlannedCall& planned) {
    return is_made(planned) && waits(planned);
  };
  const auto first = std::ranges::find_if(plan.calls, is_doubtful);
  const bool is_none = first == plan.calls.end();
  if (is_none && (!told.empty() || !plan.inherited.empty())) return;
  if (is_none) return context.talk().line({{"In doubt:  ", Ink::dim}, {"nothing."}});
  context.talk().line(
      {{"In doubt:  ", Ink::dim},
       {fmt::format("{}; not run again. Settle it: {}", names_of(plan.calls, is_doubtful),
                    settle_command(context, shown_call(context, first->call))),
        Ink::yellow}});
}

// The words of documents for what is done about a call.
std::string_view fate_of(CallAction action) {
  switch (action) {
    case CallAction::run:
      return "runs";
    case CallAction::replay:
      return "replays";
    case CallAction::run_again:
      return "runs_again";
    case CallAction::verify:
    case CallAction::settle:
      return "asked_first";
    case CallAction::wait:
    case CallAction::ask_approval:
    case CallAction::ask:
      return "waits";
    case CallAction::tell_model:
      return "told";
    case CallAction::refuse:
    case CallAction::give_up:
      return "refused";
  }
  return "";
}

}  // namespace

bool waits(const PlannedCall& planned) {
  return planned.action == CallAction::wait || planned.action == CallAction::ask_approval ||
         planned.action == CallAction::ask;
}

std::string names_of(const std::vector<PlannedCall>& calls,
                     const std::function<bool(const PlannedCall&)>& chosen) {
  std::string names;
  for (const PlannedCall& planned : calls) {
    if (!chosen(planned)) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", planned.call.tool,
                         to_string(planned.call.effect));
  }
  return names;
}

Result<Exit> tell_plan(CommandContext& context, Store& store, const SessionSummary& row) {
  auto run = look_ahead(context, store, row);
  if (!run) return forward(run);
  Json::Array left;
  for (const PlannedCall& call : run->plan.calls) left.push_back(as_json(call));
  Json::Array changed;
  for (const std::string& part : run->change.parts) changed.emplace_back(part);
  context.output().document("perdure.resume_plan/1",
                            {{"session", row.id.text()},
                             {"left", std::move(left)},
                             {"asks_model_again", run->plan.asks_model_again},
                             {"changed", std::move(changed)},
                             {"agent_error", run->agent_error},
                             {"in_use", is_in_use(row)},
                             {"inbox", run->inbox}});
  if (!context.output().is_json()) print_plan(context, row, *run);
  return Exit::done;
}

void tell_recovery(CommandContext& context, const ResumedSession& taken) {
  const RecoveryReport& report = taken.resumed.report;
  context.talk().line(
      {{"Recovered "},
       {context.short_id(taken.resumed.session.session().id().text()), Ink::bold},
       {fmt::format(" in {} ms: {}, {} not run again.", taken.took.count(),
                    report.entries == 1
                        ? "1 entry"
                        : grouped(static_cast<std::int64_t>(report.entries)) + " entries",
                    counted(report.steps, "step"))}});
  if (!taken.resumed.changed.empty()) {
    context.talk().line(fmt::format("The agent has changed, and goes on as it is now: {}.",
                                    fmt::join(taken.resumed.changed, ", ")));
  }
  if (!taken.resumed.scratchpad_problem.empty()) {
    context.talk().line("The notes' folder: " + taken.resumed.scratchpad_problem);
  }
  tell_damage(context, taken.resumed.session.session().state());
  tell_again(context, taken);
  tell_not_made(context, report.plan);
  tell_doubt(context, report.plan);
}

Json as_json(const PlannedCall& planned) {
  return Json::Object{{"call", as_json(planned.call)}, {"fate", fate_of(planned.action)}};
}

Json recovery_json(const ResumedSession& taken) {
  Json::Array left;
  for (const PlannedCall& call : taken.resumed.report.plan.calls) left.push_back(as_json(call));
  Json::Array changed;
  for (const std::string& part : taken.resumed.changed) changed.emplace_back(part);
  return Json::Object{{"entries", taken.resumed.report.entries},
                      {"steps", taken.resumed.report.steps},
                      {"lost_a_response", taken.resumed.report.lost_a_response},
                      {"took_ms", taken.took.count()},
                      {"changed", std::move(changed)},
                      {"left", std::move(left)}};
}

}  // namespace perdure::cli
