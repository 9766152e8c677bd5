// Nothing is taken over before the agent is known to be the one that was meant.

#include "live/resume_session.hpp"

#include <chrono>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "command/command.hpp"
#include "desk.hpp"
#include "live/agent_source.hpp"
#include "live/live_agent.hpp"
#include "live/signal_watch.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "screen/text.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

Result<ResumeOptions> options_of(Desk& desk) {
  ResumeOptions options;
  if (const auto wait = desk.given().find("wait")) {
    const auto span = span_from(*wait);
    if (!span) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--wait is a time, like 30s or 5m, not {}", *wait));
    }
    options.wait = *span;
  }
  if (desk.given().has("accept-changes")) options.accepted_by = desk.world().user;
  options.accepts_damage = desk.given().has("accept-damage");
  options.stop = desk.signals().token();
  return options;
}

bool is_about(const Error& error, std::string_view subject) {
  return error.code == ErrorCode::conflict && error.subject == subject;
}

// Whoever finds it in use is told how to get it.
Result<ResumedAgent> resume_or_advise(Desk& desk, Agent& agent, const SessionId& id,
                                      const ResumeOptions& options) {
  auto resumed = agent.resume(id, options);
  if (resumed) return resumed;
  Error error = std::move(resumed).error();
  if (error.code == ErrorCode::corrupted && error.subject == "damage") {
    error.message += fmt::format(
        ". {} says more. To go on from before it, fork it there; to go on without: {}",
        desk.command("check"),
        desk.command(fmt::format("resume {} --accept-damage", desk.short_id(id.text()))));
  }
  if (error.code != ErrorCode::lease_held) return std::unexpected(std::move(error));
  error.message +=
      fmt::format("; {}. To stop it: {}",
                  options.wait > Duration(0)
                      ? fmt::format("it was not given back within {}", exact_span(options.wait))
                      : "--wait 5m waits until it is given back",
                  desk.command("pause " + desk.short_id(id.text())));
  return std::unexpected(std::move(error));
}

// Once, and if need be once more, with somebody's word.
Result<ResumedAgent> resume_agent(Desk& desk, Agent& agent, const SessionId& id) {
  auto options = options_of(desk);
  if (!options) return forward(options);
  auto resumed = resume_or_advise(desk, agent, id, *options);
  if (!resumed && is_about(resumed.error(), "agent_refused")) {
    return fail(ErrorCode::conflict,
                fmt::format("{}. Resume it with its agent as it was: {}; "
                            "or let the file say `on_change: ask`",
                            resumed.error().message,
                            desk.command(fmt::format("resume {} --agent FILE", id.text()))),
                resumed.error().subject);
  }
  if (resumed || !is_about(resumed.error(), "agent_changed")) return resumed;
  const std::string changed = resumed.error().message;
  const bool can_ask =
      desk.world().is_in_terminal && desk.world().is_err_terminal && desk.signals().caught() == 0;
  // Nothing is taken over yet: whoever is asked may leave.
  const bool was_held = can_ask && desk.signals().let_go();
  const bool is_confirmed =
      can_ask && desk.confirms(changed + ". Go on with the agent as it is now?");
  if (was_held) desk.signals().hold();
  if (!is_confirmed) {
    return fail(ErrorCode::conflict,
                changed + "; to go on with it as it is now, say --accept-changes", "agent_changed");
  }
  options->accepted_by = desk.world().user;
  return resume_or_advise(desk, agent, id, *options);
}

// So that the next one finds the agent that the session goes on with.
Result<void> remember(Session& session, const SessionSummary& row, const AgentSource& source) {
  if (source_in(row.metadata) == source) return {};
  return session.annotate({.metadata = with_source(row.metadata, source)});
}

Result<AgentSource> remembered_source(Desk& desk, const SessionSummary& row) {
  if (auto known = source_in(row.metadata)) return *std::move(known);
  auto theirs = imported_source_in(row.metadata);
  if (!theirs) {
    return fail(ErrorCode::not_found,
                fmt::format("{} does not say which agent it is of: name its file with --agent FILE",
                            row.id.text()));
  }
  if (desk.given().has("accept-agent")) return *std::move(theirs);
  return fail(ErrorCode::conflict,
              fmt::format("{} came out of a bundle, and whoever made that chose its agent, which "
                          "would get your keys and run its tools: {}. With an agent of yours: "
                          "{}; with that one, if you trust it: {}",
                          row.id.text(), source_words(*theirs),
                          desk.command(fmt::format("resume {} --agent FILE", row.id.text())),
                          desk.command(fmt::format("resume {} --accept-agent", row.id.text()))),
              "agent_imported");
}

}  // namespace

Result<AgentSource> source_for(Desk& desk, const SessionSummary& row) {
  const auto named = desk.given().find("agent");
  AgentSource given = source_of(desk.given(), named.value_or(""), desk.world().folder);
  if (named) return given;
  auto known = remembered_source(desk, row);
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

Result<ResumedSession> resume_session(Desk& desk, Store& store, const SessionSummary& row) {
  if (!row.moved_to.empty() && !row.moving) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved; it goes on there: perdure resume {} --store {}",
                            row.id.text(), row.id.text(), shell_word(row.moved_to)),
                row.moved_to);
  }
  auto source = source_for(desk, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, desk.world().environment);
  if (!file) return forward(file);
  auto agent = start_agent(desk, store, *file);
  if (!agent) return forward(agent);
  const Uptime begin = desk.world().clock->uptime();
  auto resumed = resume_agent(desk, **agent, row.id);
  if (!resumed) return forward(resumed);
  Session& session = resumed->session.session();
  if (auto kept = remember(session, row, *source); !kept) return forward(kept);
  const Uptime now = desk.world().clock->uptime();
  return ResumedSession{.agent = *std::move(agent),
                        .resumed = *std::move(resumed),
                        .took = std::chrono::duration_cast<Duration>(now - begin)};
}

}  // namespace perdure::cli
