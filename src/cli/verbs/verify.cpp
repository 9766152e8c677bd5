// Asking the tool of a call in doubt whether it took effect.

#include <variant>

#include "context/calls.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "recovery/live_agent.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

struct Heard {
  std::string_view verdict;
  std::string text{};  ///< The result that was found, or why it cannot tell.
  std::string next{};
  Exit exit = Exit::done;
};

Heard heard_of(const CommandContext& context, const Verdict& verdict, const std::string& session,
               const std::string& call) {
  if (const auto* landed = std::get_if<Landed>(&verdict)) {
    return {
        .verdict = "landed", .text = landed->content, .next = context.command("resume " + session)};
  }
  if (const auto* unknown = std::get_if<CannotTell>(&verdict)) {
    return {.verdict = "cannot_tell",
            .text = unknown->why,
            .next = settle_command(context, call),
            .exit = Exit::in_doubt};
  }
  return {.verdict = "not_landed", .next = context.command("resume " + session)};
}

void print_heard(CommandContext& context, const Call& call, const Heard& heard) {
  if (heard.verdict == "landed") {
    context.screen().line(
        {{fmt::format("{} took effect, and is recorded as succeeded.", call.tool), Ink::green}});
    context.screen().text(heard.text);
  } else if (heard.verdict == "not_landed") {
    context.screen().line(
        fmt::format("{} did not take effect. On resume it is run again, once no earlier attempt of "
                    "it can land any more.",
                    call.tool));
  } else if (heard.verdict == "cannot_tell") {
    context.screen().line(
        {{fmt::format("{} cannot tell: {}", call.tool, heard.text), Ink::yellow}});
  } else {
    context.screen().line(
        {{fmt::format("The tool cannot be asked: {}.", heard.text), Ink::yellow}});
  }
  context.advise_next(heard.next);
}

Result<Heard> ask(CommandContext& context, Store& store, const Call& call) {
  auto row = store.sessions().read(call.session);
  if (!row) return forward(row);
  const std::string session = context.short_id(row->id.text());
  const std::string name = shown_call(context, call);
  auto taken = resume_session(context, store, *row);
  if (!taken) return forward(taken);
  auto verdict = verify_call(taken->resumed.session.session(), call.position);
  if (verdict) return heard_of(context, *verdict, session, name);
  if (verdict.error().code != ErrorCode::unsupported) return forward(verdict);
  return Heard{.verdict = "cannot_be_asked",
               .text = verdict.error().message,
               .next = settle_command(context, name),
               .exit = Exit::in_doubt};
}

Result<Exit> run_verify(CommandContext& context, Store& store, const Call& call) {
  auto heard = ask(context, store, call);
  if (!heard) return forward(heard);
  context.output().document("perdure.verify/1", {{"session", call.session.text()},
                                                 {"call", call_name(call.session, call.position)},
                                                 {"tool", call.tool},
                                                 {"verdict", heard->verdict},
                                                 {"text", heard->text},
                                                 {"next", heard->next}});
  print_heard(context, call, *heard);
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
