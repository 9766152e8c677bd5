// Asking the tool of a call in doubt whether it took effect.

#include <variant>

#include "context/calls.hpp"
#include "perdure/runtime/tool.hpp"
#include "recovery/live_agent.hpp"
#include "runtime/api/session.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

struct Heard {
  std::string_view verdict;
  Piece line;
  std::string text{};  ///< The result that was found, or why it cannot tell.
  Exit exit = Exit::done;
};

Heard heard_of(const Call& call, const Verdict& verdict) {
  if (const auto* landed = std::get_if<Landed>(&verdict)) {
    return {.verdict = "landed",
            .line = {fmt::format("{} took effect, and is recorded as succeeded.", call.tool),
                     Ink::green},
            .text = landed->content};
  }
  if (const auto* unknown = std::get_if<CannotTell>(&verdict)) {
    return {.verdict = "cannot_tell",
            .line = {fmt::format("{} cannot tell: {}", call.tool, unknown->why), Ink::yellow},
            .text = unknown->why,
            .exit = Exit::in_doubt};
  }
  return {.verdict = "not_landed",
          .line = {fmt::format("{} did not take effect. On resume it is run again, once no earlier "
                               "attempt of it can land any more.",
                               call.tool)}};
}

Result<Heard> ask(CommandContext& context, Store& store, const Call& call) {
  auto row = store.sessions().read(call.session);
  if (!row) return forward(row);
  auto taken = resume_session(context, store, *row);
  if (!taken) return forward(taken);
  auto verdict = verify_call(taken->resumed.session.session(), call.position);
  if (verdict) return heard_of(call, *verdict);
  const std::string& why = verdict.error().message;
  if (verdict.error().code != ErrorCode::unsupported) return forward(verdict);
  return Heard{.verdict = "cannot_be_asked",
               .line = {fmt::format("The tool cannot be asked: {}.", why), Ink::yellow},
               .text = why,
               .exit = Exit::in_doubt};
}

Result<Exit> run_verify(CommandContext& context, Store& store, const Call& call) {
  auto heard = ask(context, store, call);
  if (!heard) return forward(heard);
  const std::string next = heard->exit == Exit::in_doubt
                               ? settle_command(context, shown_call(context, call))
                               : context.command("resume " + context.short_id(call.session.text()));
  context.output().document("perdure.verify/1", {{"session", call.session.text()},
                                                 {"call", call_name(call.session, call.position)},
                                                 {"tool", call.tool},
                                                 {"verdict", heard->verdict},
                                                 {"text", heard->text},
                                                 {"next", next}});
  context.screen().line({heard->line});
  if (heard->verdict == "landed") context.screen().text(heard->text);
  context.advise_next(next);
  return heard->exit;
}

}  // namespace

Command verify_command() {
  return {.name = "verify",
          .summary = "Ask the tool of a call in doubt whether it took effect",
          .details =
              "What the tool says is recorded. A call that took effect has ended, with the result "
              "that was found; nothing else of the session is done. A tool that has no way to tell "
              "says so: then a person has to settle the call with perdure resolve.",
          .arguments = {call_argument},
          .options = with_take_up_options({}),
          .exits = {Exit::in_doubt, Exit::unconfirmed},
          .examples = {{"perdure verify ses_7k2m:12", "one call of a session"},
                       {"perdure verify @last", "the only one that is pending there"}},
          .schema = "perdure.verify/1",
          .body = on_call({Need::decision, Need::resume}, run_verify)};
}

}  // namespace perdure::cli
