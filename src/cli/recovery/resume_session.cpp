// Nothing is taken over before the agent is known to be the one that was meant.

#include "recovery/resume_session.hpp"

#include <chrono>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "context/agent_source.hpp"
#include "context/call_phrases.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/log.hpp"
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
  const Uptime now = context.io().clock->uptime();
  return ResumedSession{.agent = *std::move(agent),
                        .resumed = *std::move(resumed),
                        .took = std::chrono::duration_cast<Duration>(now - begin)};
}

}  // namespace perdure::cli
