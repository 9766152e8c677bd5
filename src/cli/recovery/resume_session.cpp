// Nothing is taken over before the agent is known to be the one that was meant.

#include "recovery/resume_session.hpp"

#include <chrono>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/call_policy.hpp"
#include "context/agent_source.hpp"
#include "context/call_phrases.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "recovery/left_open.hpp"
#include "recovery/live_agent.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

Result<ResumeOptions> options_of(CommandContext& context) {
  ResumeOptions options;
  if (const auto wait = context.given().find("wait")) {
    const auto span = span_from(*wait);
    if (!span) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--wait is a time, like 30s or 5m, not {}", *wait));
    }
    options.wait = *span;
  }
  if (context.given().has("accept-changes")) options.accepted_by = context.io().user;
  options.accepts_damage = context.given().has("accept-damage");
  options.stop = context.signals().token();
  return options;
}

bool is_about(const Error& error, std::string_view subject) {
  return error.code == ErrorCode::conflict && error.subject == subject;
}

// Whoever finds it in use is told how to get it.
Result<ResumedAgent> resume_or_advise(CommandContext& context, Agent& agent, const SessionId& id,
                                      const ResumeOptions& options) {
  auto resumed = agent.resume(id, options);
  if (resumed) return resumed;
  Error error = std::move(resumed).error();
  if (error.code == ErrorCode::corrupted && error.subject == "damage") {
    error.message += fmt::format(
        ". {} says more. To go on from before it, fork it there; to go on without: {}",
        context.command("check"),
        context.command(fmt::format("resume {} --accept-damage", context.short_id(id.text()))));
  }
  if (error.code != ErrorCode::lease_held) return std::unexpected(std::move(error));
  error.message +=
      fmt::format("; {}. To stop it: {}",
                  options.wait > Duration(0)
                      ? fmt::format("it was not given back within {}", exact_span(options.wait))
                      : "--wait 5m waits until it is given back",
                  context.command("pause " + context.short_id(id.text())));
  return std::unexpected(std::move(error));
}

// Once, and if need be once more, with somebody's word.
Result<ResumedAgent> resume_agent(CommandContext& context, Agent& agent, const SessionId& id) {
  auto options = options_of(context);
  if (!options) return forward(options);
  auto resumed = resume_or_advise(context, agent, id, *options);
  if (!resumed && is_about(resumed.error(), "agent_refused")) {
    return fail(ErrorCode::conflict,
                fmt::format("{}. Resume it with its agent as it was: {}; "
                            "or let the file say `on_change: ask`",
                            resumed.error().message,
                            context.command(fmt::format("resume {} --agent FILE", id.text()))),
                resumed.error().subject);
  }
  if (resumed || !is_about(resumed.error(), "agent_changed")) return resumed;
  const std::string changed = resumed.error().message;
  const bool can_ask = context.io().is_in_terminal && context.io().is_err_terminal &&
                       context.signals().caught() == 0;
  // Nothing is taken over yet: whoever is asked may leave.
  const bool was_held = can_ask && context.signals().let_go();
  const bool is_confirmed =
      can_ask && context.confirms(changed + ". Go on with the agent as it is now?");
  if (was_held) context.signals().hold();
  if (!is_confirmed) {
    return fail(ErrorCode::conflict,
                changed + "; to go on with it as it is now, say --accept-changes", "agent_changed");
  }
  options->accepted_by = context.io().user;
  return resume_or_advise(context, agent, id, *options);
}

// So that the next one finds the agent that the session goes on with.
Result<void> remember(Session& session, const SessionSummary& row, const AgentSource& source) {
  if (source_in(row.metadata) == source) return {};
  return session.annotate({.metadata = with_source(row.metadata, source)});
}

void tell_again(CommandContext& context, const ResumedSession& taken) {
  std::string line;
  const auto add = [&](const std::string& names, std::string_view how) {
    if (names.empty()) return;
    line += fmt::format("{}{}{}", line.empty() ? "" : "; ", names, how);
  };
  if (taken.resumed.report.lost_a_response) {
    add("the model", ", whose answer was lost, is asked again");
  }
  add(names_of(taken.left, Fate::runs_again), "");
  add(names_of(taken.left, Fate::asked_first), " is first asked whether it took effect");
  context.talk().line({{"Run again: ", Ink::dim}, {line.empty() ? "nothing." : line + "."}});
  const std::string first = names_of(taken.left, Fate::runs);
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

// A call that was not made yet is in no doubt.
bool is_made(const LeftCall& left) { return left.call.state != CallState::intended; }

void tell_not_made(CommandContext& context, const ResumedSession& taken) {
  for (const LeftCall& left : taken.left) {
    if (is_made(left) || left.fate != Fate::waits) continue;
    context.talk().line(
        {{"Waits:     ", Ink::dim},
         {fmt::format("{} for {}: {}", left.call.tool,
                      asks_people(left.call.tool) ? "an answer" : "approval",
                      allow_command(context, left.call.tool, shown_call(context, left.call))),
          Ink::yellow}});
  }
  const std::string done = names_of(taken.left, Fate::replays);
  if (!done.empty()) {
    context.talk().line(
        {{"Replayed:  ", Ink::dim}, {done + "; done before. The model gets its result."}});
  }
  const std::string refused = names_of(taken.left, Fate::refused);
  if (refused.empty()) return;
  context.talk().line({{"Refused:   ", Ink::dim}, {refused + "; not made. The model is told."}});
}

void tell_doubt(CommandContext& context, const ResumedSession& taken) {
  const std::string told = names_of(taken.left, Fate::told);
  if (!told.empty()) {
    context.talk().line(
        {{"In doubt:  ", Ink::dim}, {told + "; not run again. The model is told."}});
  }
  std::vector<LeftCall> doubtful = taken.left;
  std::erase_if(doubtful,
                [](const LeftCall& left) { return !is_made(left) || left.fate != Fate::waits; });
  for (const Call& call : taken.inherited) {
    context.talk().line(
        {{"In doubt:  ", Ink::dim},
         {fmt::format("{} ({}) in the session it was forked from; not run here. Settle "
                      "it there: {}",
                      call.tool, to_string(call.effect),
                      settle_command(context, shown_call(context, call))),
          Ink::yellow}});
  }
  if (doubtful.empty() && (!told.empty() || !taken.inherited.empty())) return;
  if (doubtful.empty()) return context.talk().line({{"In doubt:  ", Ink::dim}, {"nothing."}});
  context.talk().line(
      {{"In doubt:  ", Ink::dim},
       {fmt::format("{}; not run again. Settle it: {}", names_of(doubtful, Fate::waits),
                    settle_command(context, shown_call(context, doubtful.front().call))),
        Ink::yellow}});
}

Result<AgentSource> remembered_source(CommandContext& context, const SessionSummary& row) {
  if (auto known = source_in(row.metadata)) return *std::move(known);
  auto theirs = imported_source_in(row.metadata);
  if (!theirs) {
    return fail(ErrorCode::not_found,
                fmt::format("{} does not say which agent it is of: name its file with --agent FILE",
                            row.id.text()));
  }
  if (context.given().has("accept-agent")) return *std::move(theirs);
  return fail(ErrorCode::conflict,
              fmt::format("{} came out of a bundle, and whoever made that chose its agent, which "
                          "would get your keys and run its tools: {}. With an agent of yours: "
                          "{}; with that one, if you trust it: {}",
                          row.id.text(), source_words(*theirs),
                          context.command(fmt::format("resume {} --agent FILE", row.id.text())),
                          context.command(fmt::format("resume {} --accept-agent", row.id.text()))),
              "agent_imported");
}

}  // namespace

Result<AgentSource> source_for(CommandContext& context, const SessionSummary& row) {
  const auto named = context.given().find("agent");
  AgentSource given = source_of(context.given(), named.value_or(""), context.io().folder);
  if (named) return given;
  auto known = remembered_source(context, row);
  if (!known) {
    // A model is enough of an agent.
    return given.model.empty() ? forward(known) : Result<AgentSource>(given);
  }
  AgentSource source = *std::move(known);
  if (!given.model.empty()) source.model = given.model;
  if (!given.provider.empty()) source.provider = given.provider;
  if (!given.base_url.empty()) source.base_url = given.base_url;
  return source;
}

Result<ResumedSession> resume_session(CommandContext& context, Store& store,
                                      const SessionSummary& row) {
  if (!row.moved_to.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved; it goes on there: perdure resume {} --store {}",
                            row.id.text(), row.id.text(), shell_word(row.moved_to)),
                row.moved_to);
  }
  auto source = source_for(context, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, context.io().environment);
  if (!file) return forward(file);
  auto agent = start_agent(context, store, *file);
  if (!agent) return forward(agent);
  const Uptime begin = context.io().clock->uptime();
  auto resumed = resume_agent(context, **agent, row.id);
  if (!resumed) return forward(resumed);
  Session& session = resumed->session.session();
  if (auto kept = remember(session, row, *source); !kept) return forward(kept);
  const AgentSpec& spec = (*agent)->spec();
  const Policy policy = make_policy(spec);
  const Foresight foresight(spec.tools.tools(), policy, context.io().clock->now());
  auto left = read_left_calls(store, row.id, session.state(), &foresight);
  if (!left) return forward(left);
  auto inherited = read_inherited_doubts(store, row, session.state());
  if (!inherited) return forward(inherited);
  const Uptime now = context.io().clock->uptime();
  return ResumedSession{.agent = *std::move(agent),
                        .resumed = *std::move(resumed),
                        .left = *std::move(left),
                        .inherited = *std::move(inherited),
                        .took = std::chrono::duration_cast<Duration>(now - begin)};
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
  tell_not_made(context, taken);
  tell_doubt(context, taken);
}

Json as_json(const LeftCall& left) {
  return Json::Object{{"call", as_json(left.call)}, {"fate", to_string(left.fate)}};
}

Json recovery_json(const ResumedSession& taken) {
  Json::Array left;
  for (const LeftCall& call : taken.left) left.push_back(as_json(call));
  Json::Array changed;
  for (const std::string& part : taken.resumed.changed) changed.emplace_back(part);
  return Json::Object{{"entries", taken.resumed.report.entries},
                      {"steps", taken.resumed.report.steps},
                      {"lost_a_response", taken.resumed.report.lost_a_response},
                      {"took_ms", taken.took.count()},
                      {"changed", std::move(changed)},
                      {"left", std::move(left)}};
}

std::string names_of(const std::vector<LeftCall>& left, Fate fate) {
  std::string names;
  for (const LeftCall& call : left) {
    if (call.fate != fate) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", call.call.tool,
                         to_string(call.call.effect));
  }
  return names;
}

}  // namespace perdure::cli
