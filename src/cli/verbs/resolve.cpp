// How a call in doubt ended, decided by a person.

#include <algorithm>

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<void> check_unresolved(const CommandContext& context, Store& store, const Call& call) {
  if (call.state == CallState::in_doubt) return {};
  auto pending = read_pending(store, call.session);
  if (!pending) return forward(pending);
  const bool is_unresolved = std::ranges::any_of(*pending, [&](const PendingCall& each) {
    return each.call.position == call.position &&
           (each.need == Need::decision || each.need == Need::resume);
  });
  if (is_unresolved) return {};
  if (call.state == CallState::intended) {
    return wrong_state(
        call, "it was not made yet, so there is nothing to resolve; " +
                  allow_command(context, call.tool, call_name(call.session, call.position)));
  }
  return wrong_state(call, call.state == CallState::dispatched
                               ? "it is being made; wait for it, or pause the session"
                               : "only a call in doubt can be resolved");
}

// Of a call that is made again, or given up, the model is told neither.
Result<void> check_resolve(CommandContext& context) {
  const Invocation& given = context.given();
  const auto as = decision_from(given.find("as").value_or(""));
  if (given.has("result") && as != Decision::As::succeeded) {
    return misuse("--result is what a call answered that succeeded: say --as succeeded");
  }
  if (given.has("error") && as != Decision::As::failed) {
    return misuse("--error is why a call failed: say --as failed");
  }
  return {};
}

Result<Decision> decision_of(CommandContext& context, const Call& call) {
  const Invocation& given = context.given();
  const auto as = decision_from(given.find("as").value_or(""));
  const std::string told =
      given.find(*as == Decision::As::failed ? "error" : "result").value_or("");
  auto text = text_of_word(told, context.io());
  if (!text) return forward(text);
  // Of one that a bundle claims to have made, the claim says it.
  const bool is_claimed = call.state == CallState::intended;
  if (*as == Decision::As::succeeded && text->empty() && !is_claimed) {
    return misuse("say what it answered, for the model: --result TEXT or --result @FILE");
  }
  return Decision{.as = *as,
                  .result = *std::move(text),
                  .who = context.io().user,
                  .why = given.find("reason").value_or("")};
}

Result<Exit> run_resolve(CommandContext& context, Store& store, const Call& call) {
  if (auto open = check_unresolved(context, store, call); !open) return forward(open);
  auto decision = decision_of(context, call);
  if (!decision) return forward(decision);
  const std::string as(to_string(decision->as));
  const Letter letter{.session = call.session,
                      .word = {as, decision->who, decision->why},
                      .call = call,
                      .members = {{"decision", as},
                                  {"result", decision->result},
                                  {"who", decision->who},
                                  {"why", decision->why}},
                      .post = [&](Mail& mail, const MessageId& id) {
                        return mail.resolve(id, call.position, *decision);
                      }};
  if (context.given().has("dry-run")) return deliver_dry(context, store, letter);
  const bool is_risky = decision->as == Decision::As::retry && call.effect == EffectClass::unsafe;
  if (is_risky && !context.confirms(fmt::format(
                      "{} may have taken effect, and would be made again. Go on?", call.tool))) {
    return Exit::unconfirmed;
  }
  return deliver(context, store, letter);
}

}  // namespace

Command resolve_command() {
  return {
      .name = "resolve",
      .summary = "Resolve a call in doubt",
      .details =
          "succeeded: it took effect; the model is told --result. failed: nothing happened; the "
          "model is told --error. retry: make it again (asks first if it is unsafe). abandoned: it "
          "may have happened; its key stays taken. The log keeps who decided and why. Where a "
          "bundle that was not accepted says that a call was made already: succeeded believes it, "
          "and takes its result; retry makes the call.",
      .arguments = {call_argument},
      .options = {{.name = "as",
                   .value = "HOW",
                   .summary = "succeeded, failed, retry or abandoned",
                   .choices = {"succeeded", "failed", "retry", "abandoned"},
                   .missing = "say how it ended: --as succeeded, failed, retry or abandoned"},
                  {.name = "result",
                   .value = "TEXT",
                   .summary = "What it answered; @FILE reads a file, - stdin"},
                  {.name = "error",
                   .value = "TEXT",
                   .summary = "Why it failed; @FILE reads a file, - stdin"},
                  {.name = "reason",
                   .value = "TEXT",
                   .summary = "Evidence for the decision (required)",
                   .missing = "say how you know: --reason TEXT"},
                  {.name = "dry-run", .summary = "Only say what would be done"}},
      .exits = {Exit::unconfirmed},
      .examples =
          {{"perdure resolve ses_7k2m --as succeeded --result rf_88 --reason 'seen in the console'",
            "it did happen"}},
      .schema = "perdure.decision/1",
      .check = check_resolve,
      .body = on_call({Need::decision, Need::resume}, run_resolve)};
}

}  // namespace perdure::cli
