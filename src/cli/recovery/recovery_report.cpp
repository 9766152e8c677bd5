// One set of decisions for all of it (perdure/runtime/runtime.hpp): a dry run prints the plan that a
// resume would make, and a resume prints the plan that it made.

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "agent/api/agent.hpp"
#include "agent/api/agent_file.hpp"
#include "context/agent_source.hpp"
#include "context/calls.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/runtime/tool.hpp"
#include "recovery/live_agent.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"

namespace perdure::cli {
namespace {

// What is done about a call, for documents and for people.
struct ActionWords {
  CallAction action;
  std::string_view fate;
  std::string_view words;
};

constexpr std::array<ActionWords, 11> action_words = {{
    {CallAction::run, "runs", "is made: it was not yet"},
    {CallAction::replay, "replays", "is not made: it was done, and its result is given"},
    {CallAction::run_again, "runs_again", "runs again"},
    {CallAction::verify, "asked_first", "is asked whether it took effect"},
    {CallAction::settle, "asked_first", "is asked whether it took effect"},
    {CallAction::wait, "waits", "is not run: a person must decide"},
    {CallAction::ask_approval, "waits", "is not run: a person must decide"},
    {CallAction::ask, "waits", "is not run: a person must decide"},
    {CallAction::tell_model, "told", "is not run: the model is told that its outcome is unknown"},
    {CallAction::refuse, "refused", "is not made: it is refused, or its tool is gone"},
    {CallAction::give_up, "refused", "is not made: it is refused, or its tool is gone"},
}};

const ActionWords& words_of(CallAction action) {
  return *std::ranges::find(action_words, action, &ActionWords::action);
}

// A call that was not made yet is in no doubt.
bool is_made(const PlannedCall& planned) { return planned.call.state != CallState::intended; }

std::string_view words_for(const PlannedCall& planned) {
  if (!waits(planned) || is_made(planned)) return words_of(planned.action).words;
  return asks_people(planned.call.tool) ? "is not run: a person must answer"
                                        : "is not run: a person must approve it";
}

std::string_view words_for(OnChange rule, CommandContext& context) {
  switch (rule) {
    case OnChange::go_on:
      return "it continues as it is now";
    case OnChange::ask:
      return context.given().has("accept-changes") ? "that is accepted"
                                                   : "it needs --accept-changes";
    case OnChange::refuse:
      return "its file refuses changes; resume it with --agent FILE, as the file was";
  }
  return "";
}

// What a resume would find.
struct DryRun {
  RecoveryPlan plan{};
  bool owes_an_answer = false;         ///< The last message is a person's, or a tool's.
  std::vector<std::string> changed{};  ///< Parts of the session's agent that are not as they were,
  OnChange rule = OnChange::ask;       ///< and what its file says about that.
  std::string agent_error{};           ///< Why that is not known.
  std::size_t inbox = 0;
};

// The session's agent as its file is now, which tells `run` what has changed.
Result<AgentSpec> read_agent(CommandContext& context, const SessionSummary& row, const State& state,
                             DryRun& run) {
  auto source = source_for(context, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, context.io().environment);
  if (!file) return forward(file);
  run.rule = file->on_change;
  if (state.details->origin && !state.details->origin->agent_digest.empty()) {
    run.changed = changed_parts(state.details->origin->agent_digest, agent_digest(*file));
  }
  const ProcessIo& io = context.io();
  return make_agent_spec(*file, {.environment = io.environment, .state_folder = state_folder(io)},
                         {.clock = *io.clock, .ids = *io.ids});
}

Result<DryRun> look_ahead(CommandContext& context, Store& store, const SessionSummary& row) {
  constexpr std::size_t mails_counted = 1000;
  auto state = read_state(store, row.id, {});
  if (!state) return forward(state);
  DryRun run;
  // What is open can be told without the agent, if not as surely.
  auto agent = read_agent(context, row, *state, run);
  if (!agent) run.agent_error = agent.error().message;
  const Policy policy = agent ? policy_of(*agent) : Policy{};
  auto plan = plan_recovery(store, row, *state,
                            {.tools = agent ? &agent->tools.tools() : nullptr,
                             .policy = policy,
                             .now = context.io().clock->now()});
  if (!plan) return forward(plan);
  run.plan = *std::move(plan);
  auto mails = store.inbox().list(row.id, mails_counted);
  if (!mails) return forward(mails);
  run.inbox = mails->size();
  run.owes_an_answer = !state->transcript.empty() &&
                       state->transcript.back().message.role == Role::user &&
                       !state->details->request;
  return run;
}

bool is_in_use(const SessionSummary& row) { return row.holder && row.holder->alive; }

void print_plan(CommandContext& context, const SessionSummary& row, const DryRun& run) {
  Screen& screen = context.screen();
  if (is_in_use(row)) {
    screen.line({{fmt::format("A process runs it now (pid {} on {}); resume would wait for it with "
                              "--wait, or fail.",
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
    screen.line("No call is open: none would run again.");
  } else {
    table.print(screen);
  }
  if (run.plan.asks_model_again) {
    screen.line("The model is asked again: its answer was lost, and counts as spent.");
  }
  if (run.owes_an_answer) screen.line("The model is asked: it has not answered yet.");
  if (run.inbox > 0) screen.line(fmt::format("The inbox has {}.", counted(run.inbox, "message")));
  if (!run.changed.empty()) {
    screen.line(fmt::format("The agent has changed ({}): {}.", fmt::join(run.changed, ", "),
                            words_for(run.rule, context)));
  }
  if (!run.agent_error.empty()) {
    screen.line({{fmt::format("It cannot be resumed as it is: {}", run.agent_error), Ink::yellow}});
  }
}

Json planned_json(const std::vector<PlannedCall>& calls) {
  return json_list(calls, [](const PlannedCall& each) {
    return Json::Object{{"call", as_json(each.call)}, {"fate", words_of(each.action).fate}};
  });
}

std::function<bool(const PlannedCall&)> has(CallAction action) {
  return [action](const PlannedCall& planned) { return planned.action == action; };
}

void tell(CommandContext& context, std::string_view label, std::string words,
          Ink ink = Ink::plain) {
  context.talk().line({{fmt::format("{:<11}", label), Ink::dim}, {std::move(words), ink}});
}

// A line only for what there is.
void tell_names(CommandContext& context, std::string_view label, const std::string& names,
                std::string_view how) {
  if (!names.empty()) tell(context, label, names + std::string(how));
}

void tell_again(CommandContext& context, const RecoveryReport& report) {
  std::string line;
  const auto add = [&](const std::string& names, std::string_view how) {
    if (names.empty()) return;
    line += fmt::format("{}{}{}", line.empty() ? "" : "; ", names, how);
  };
  if (report.lost_a_response) add("the model", ", whose answer was lost, is asked again");
  const std::vector<PlannedCall>& calls = plan_of(report).calls;
  add(names_of(calls, has(CallAction::run_again)), "");
  add(names_of(calls, has(CallAction::verify)), " is first asked whether it took effect");
  tell(context, "Run again:", line.empty() ? "nothing." : line + ".");
  tell_names(context, "Run now:", names_of(calls, has(CallAction::run)), ", for the first time.");
}

// What cannot be read is missing in what the model is told; a person who continues should know.
void tell_damage(CommandContext& context, const State& state) {
  const std::vector<Position> places = damaged_places(state);
  if (places.empty()) return;
  context.talk().line({{fmt::format("Damaged:   {}, at {}; it continues without. {} says more.",
                                    counted(places.size(), "entry"), fmt::join(places, ", "),
                                    context.command("check")),
                        Ink::red}});
}

void tell_not_made(CommandContext& context, const std::vector<PlannedCall>& calls) {
  for (const PlannedCall& planned : calls) {
    if (is_made(planned) || !waits(planned)) continue;
    const std::string& tool = planned.call.tool;
    tell(context, "Waits:",
         fmt::format("{} for {}: {}", tool, asks_people(tool) ? "an answer" : "approval",
                     allow_command(context, tool, shown_call(context, planned.call))),
         Ink::yellow);
  }
  tell_names(context, "Replayed:", names_of(calls, has(CallAction::replay)),
             "; done before. The model gets its result.");
  const auto is_refused = [](const PlannedCall& planned) {
    return planned.action == CallAction::refuse || planned.action == CallAction::give_up;
  };
  tell_names(context, "Refused:", names_of(calls, is_refused), "; not made. The model is told.");
}

void tell_doubt(CommandContext& context, const RecoveryPlan& plan) {
  const std::string told = names_of(plan.calls, has(CallAction::tell_model));
  tell_names(context, "In doubt:", told, "; not run again. The model is told.");
  for (const Call& call : plan.inherited) {
    tell(context, "In doubt:",
         fmt::format("{} ({}) in the session it was forked from; not run here. Settle it there: {}",
                     call.tool, to_string(call.effect),
                     settle_command(context, shown_call(context, call))),
         Ink::yellow);
  }
  const auto is_doubtful = [](const PlannedCall& planned) {
    return is_made(planned) && waits(planned);
  };
  const auto first = std::ranges::find_if(plan.calls, is_doubtful);
  if (first != plan.calls.end()) {
    tell(context, "In doubt:",
         fmt::format("{}; not run again. Settle it: {}", names_of(plan.calls, is_doubtful),
                     settle_command(context, shown_call(context, first->call))),
         Ink::yellow);
  } else if (told.empty() && plan.inherited.empty()) {
    tell(context, "In doubt:", "nothing.");
  }
}

}  // namespace

bool waits(const PlannedCall& planned) { return words_of(planned.action).fate == "waits"; }

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
  context.output().document("perdure.resume_plan/1",
                            {{"session", row.id.text()},
                             {"left", planned_json(run->plan.calls)},
                             {"asks_model_again", run->plan.asks_model_again},
                             {"changed", as_json(run->changed)},
                             {"agent_error", run->agent_error},
                             {"in_use", is_in_use(row)},
                             {"inbox", run->inbox}});
  print_plan(context, row, *run);
  return Exit::done;
}

void tell_recovery(CommandContext& context, const ResumedSession& taken) {
  const RecoveryReport& report = taken.resumed.report;
  const Session& session = taken.resumed.session.session();
  context.talk().line(
      {{"Recovered "},
       {context.short_id(session.id().text()), Ink::bold},
       {fmt::format(" in {} ms: {}, {} not run again.", taken.took.count(),
                    counted(report.entries, "entry"), counted(report.steps, "step"))}});
  if (!taken.resumed.changed.empty()) {
    context.talk().line(
        fmt::format("The agent has changed; the session continues with it as it is now: {}.",
                    fmt::join(taken.resumed.changed, ", ")));
  }
  if (!taken.resumed.scratchpad_problem.empty()) {
    context.talk().line("The notes' folder: " + taken.resumed.scratchpad_problem);
  }
  tell_damage(context, session.state());
  tell_again(context, report);
  tell_not_made(context, plan_of(report).calls);
  tell_doubt(context, plan_of(report));
}

Json recovery_json(const ResumedSession& taken) {
  const RecoveryReport& report = taken.resumed.report;
  return Json::Object{{"entries", report.entries},
                      {"steps", report.steps},
                      {"lost_a_response", report.lost_a_response},
                      {"took_ms", taken.took.count()},
                      {"changed", as_json(taken.resumed.changed)},
                      {"left", planned_json(plan_of(report).calls)}};
}

}  // namespace perdure::cli
