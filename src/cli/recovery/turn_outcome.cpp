// A turn that failed is told like one that ended: the session is there, and can go on.

#include "recovery/turn_outcome.hpp"

#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "context/call_phrases.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "recovery/recovery_report.hpp"
#include "recovery/resume_session.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

// What a provider refuses is no misuse of the command line.
Exit exit_of_failure(const Error& error) {
  const Exit exit = exit_for(error);
  return exit == Exit::usage || exit == Exit::not_found ? Exit::failed : exit;
}

Exit exit_of_interruption(const TurnOutcome& end, const Session& session) {
  if (end.signal == SIGTERM) return Exit::terminated;
  if (end.signal != 0) return Exit::interrupted;
  const bool is_over = session.status() == Status::cancelled || session.status() == Status::failed;
  return is_over ? Exit::failed : Exit::resting;
}

std::string_view stop_word(const TurnOutcome& end) {
  return end.error ? std::string_view("failed") : to_string(end.report.stop);
}

std::string_view waits_for(const Waiting& waiting) {
  switch (waiting.what) {
    case Waiting::For::approval:
      return asks_people(waiting.tool) ? "answer" : "approval";
    case Waiting::For::decision:
      return "decision";
    case Waiting::For::time:
      return "time";
  }
  return "";
}

// To the runtime an answer is an approval with words.
std::string why_of(const Waiting& waiting) {
  return waits_for(waiting) == "answer" ? "it waits for an answer" : waiting.why;
}

std::string why_of(const TurnOutcome& end) {
  if (end.error) return end.error->message;
  return waits_for_a_word(end) ? why_of(*end.report.waiting) : end.report.why;
}

std::string command_for(const CommandContext& context, const Waiting& waiting,
                        const std::string& session) {
  const std::string call = fmt::format("{}:{}", session, waiting.call);
  switch (waiting.what) {
    case Waiting::For::approval:
      return allow_command(context, waiting.tool, call);
    case Waiting::For::decision:
      return settle_command(context, call);
    case Waiting::For::time:
      return context.command("resume " + session);
  }
  return {};
}

Piece headline(const TurnOutcome& end, const Session& session) {
  if (end.error) return {fmt::format("Failed: {}", end.error->message), Ink::red};
  const TurnReport& report = end.report;
  switch (report.stop) {
    case TurnStop::completed:
      return {fmt::format("Completed: {}.", totals_text(session.state())), Ink::green};
    case TurnStop::refused:
      return {fmt::format("The model will not answer: {}", report.why), Ink::red};
    case TurnStop::needs_attention:
      return {fmt::format("! {} is in doubt: {}", report.waiting ? report.waiting->tool : "a call",
                          report.why),
              Ink::yellow};
    default:
      return {fmt::format("Stopped ({}): {}", to_string(report.stop), why_of(end)), Ink::yellow};
  }
}

// Whoever wants to hear nothing still hears why it failed.
void tell_headline(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const Piece piece = headline(end, session);
  const bool has_failed = end.error || end.report.stop == TurnStop::refused;
  if (has_failed && context.given().has("quiet")) {
    context.io().err << "perdure: " << visible(piece.text, Lines::many) << '\n';
  } else {
    context.talk().line({piece});
  }
}

// An answer is told with its totals, and these say it.
void tell_unconfirmed(CommandContext& context, const TurnOutcome& end) {
  if (end.unconfirmed_micros == 0) return;
  if (!end.error && end.report.stop == TurnStop::completed) return;
  context.talk().line(
      {{"Cost: ", Ink::dim},
       {fmt::format("{} spent in this turn, up to {} more unconfirmed: an answer did "
                    "not come whole. The budget counts both.",
                    dollars(end.spent_micros), dollars(end.unconfirmed_micros))}});
}

void tell_what_is_asked(CommandContext& context, const TurnOutcome& end, const Session& session) {
  if (!waits_for_a_word(end)) return;
  const std::string words = asked_words(session.state(), end.report.waiting->call);
  if (!words.empty()) context.question().line({{"Asks: ", Ink::dim}, {words}});
}

}  // namespace

bool waits_for_a_word(const TurnOutcome& end) {
  return !end.error && end.report.waiting && end.report.waiting->what == Waiting::For::approval;
}

std::string totals_text(const State& state) {
  const Tally& totals = state.totals;
  std::string text =
      fmt::format("{}, {}, {} tokens", counted(static_cast<std::uint64_t>(totals.turns), "turn"),
                  counted(static_cast<std::uint64_t>(totals.steps), "step"),
                  grouped(totals.tokens_in + totals.tokens_out));
  const bool is_known = !has_unknown_cost(state);
  if (totals.cost_micros > 0 || !is_known) text += ", " + cost_words(totals.cost_micros, is_known);
  return text + unconfirmed_words(state.budget.totals.unconfirmed);
}

Exit exit_of(const TurnOutcome& end, const Session& session) {
  if (end.error) return exit_of_failure(*end.error);
  switch (end.report.stop) {
    case TurnStop::completed:
      return Exit::done;
    case TurnStop::refused:
      return Exit::failed;
    case TurnStop::needs_attention:
      return Exit::in_doubt;
    case TurnStop::interrupted:
      return exit_of_interruption(end, session);
    case TurnStop::max_iterations:
    case TurnStop::deadline:
    case TurnStop::budget:
    case TurnStop::incomplete_plan:
    case TurnStop::loop:
    case TurnStop::waiting:
      return Exit::resting;
  }
  return Exit::failed;
}

std::string next_command(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const std::string id = context.short_id(session.id().text());
  if (!end.error && end.report.waiting) return command_for(context, *end.report.waiting, id);
  if (!end.in_doubt.empty())
    return settle_command(context, shown_call(context, end.in_doubt.front().call));
  if (session.status() == Status::cancelled || session.status() == Status::failed) {
    return context.command("fork " + id);
  }
  if (!end.error && end.report.stop == TurnStop::completed) {
    return end.report.is_cut_short ? context.command(fmt::format("resume {} \"Go on.\"", id)) : "";
  }
  if (!end.error && end.report.stop == TurnStop::budget) {
    return context.command(fmt::format("resume {} --budget DOLLARS", id));
  }
  const bool needs_words = end.report.stop == TurnStop::incomplete_plan ||
                           end.report.stop == TurnStop::loop ||
                           end.report.stop == TurnStop::refused;
  if (!end.error && needs_words) return context.command(fmt::format("resume {} \"…\"", id));
  return context.command("resume " + id);
}

// It may have been stopped just now, or by whatever ended an earlier process: the log knows.
std::string doubt_of(const PlannedCall& left, const Session& session) {
  const auto open = session.state().open_calls.find(left.call.position);
  const bool is_said = open != session.state().open_calls.end() && open->second.doubt;
  return is_said ? *open->second.doubt : "its outcome is unknown";
}

void tell_stop(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const bool has_answer = !end.error && end.report.stop == TurnStop::completed;
  if (has_answer && !context.is_terminal() && !end.report.answer.empty()) {
    context.screen().text(end.report.answer, Lines::prose);
  }
  context.screen().flush();
  tell_headline(context, end, session);
  tell_what_is_asked(context, end, session);
  if (!end.in_doubt.empty()) {
    context.talk().line({{"In doubt: ", Ink::dim},
                         {fmt::format("{}; {}.", names_of(end.in_doubt, waits),
                                      doubt_of(end.in_doubt.front(), session)),
                          Ink::yellow}});
  }
  tell_unconfirmed(context, end);
  if (end.report.is_cut_short) context.talk().line("The answer ran into its limit of tokens.");
  if (!end.report.scratchpad_problem.empty()) {
    context.talk().line("The notes' folder: " + end.report.scratchpad_problem);
  }
}

void tell_end(CommandContext& context, const TurnOutcome& end, const Session& session) {
  tell_stop(context, end, session);
  const std::string next = next_command(context, end, session);
  if (!next.empty()) context.talk().line({{"Next: ", Ink::dim}, {next}});
}

Json as_json(const SessionId& session, const Waiting& waiting) {
  return Json::Object{{"call", call_name(session, waiting.call)},
                      {"tool", waiting.tool},
                      {"for", waits_for(waiting)},
                      {"why", why_of(waiting)},
                      {"until", as_json(waiting.until)}};
}

Json::Object end_document(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const Tally& totals = session.state().totals;
  return {{"session", session.id().text()},
          {"stop", stop_word(end)},
          {"why", why_of(end)},
          {"code", end.error ? Json(to_string(end.error->code)) : Json(nullptr)},
          {"answer", end.report.answer},
          {"is_cut_short", end.report.is_cut_short},
          {"turns", totals.turns},
          {"steps", totals.steps},
          {"tokens_in", totals.tokens_in},
          {"tokens_out", totals.tokens_out},
          {"cost_micros", totals.cost_micros},
          {"is_cost_known", !has_unknown_cost(session.state())},
          {"unconfirmed_micros", session.state().budget.totals.unconfirmed},
          {"head", session.state().head},
          {"waiting", end.report.waiting ? as_json(session.id(), *end.report.waiting) : Json()},
          {"next", next_command(context, end, session)},
          {"exit", std::to_underlying(exit_of(end, session))}};
}

}  // namespace perdure::cli
