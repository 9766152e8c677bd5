// How a call in doubt ended, decided by a person.

#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "context/decisions.hpp"
#include "context/options.hpp"
#include "context/pending_calls.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

const Option dry_option = {.name = "dry-run", .summary = "Only say what would be done"};

Result<void> check_unresolved(const CommandContext& context, Store& store, const Call& call) {
  auto row = store.sessions().read(call.session);
  if (!row) return forward(row);
  switch (call.state) {
    case CallState::in_doubt:
      return {};
    case CallState::intended: {
      auto state = read_state(store, call.session, {});
      if (!state) return forward(state);
      if (need_of(call, *row, &*state) == Need::decision) return {};
      return wrong_state(call, "it was not made yet, so there is nothing to resolve; " +
                                   decide_command(context, call));
    }
    case CallState::dispatched:
      if (need_of(call, *row, nullptr)) return {};
      return wrong_state(call, "it is being made; wait for it, or pause the session");
    default:
      return wrong_state(call, "only a call in doubt can be resolved");
  }
}

// Of a call that is made again, or given up, the model is told neither.
Result<void> check_words(const Invocation& given, Decision::As as) {
  if (given.has("result") && as != Decision::As::succeeded) {
    return fail(ErrorCode::invalid_argument,
                "--result is what a call answered that succeeded: say --as succeeded");
  }
  if (given.has("error") && as != Decision::As::failed) {
    return fail(ErrorCode::invalid_argument, "--error is why a call failed: say --as failed");
  }
  return {};
}

Result<Decision> decision_of(CommandContext& context, const Call& call) {
  const Invocation& given = context.given();
  const auto as = decision_from(given.find("as").value_or(""));
  if (!as)
    return fail(ErrorCode::invalid_argument,
                "say how it ended: --as succeeded, failed, retry or abandoned");
  if (given.find("reason").value_or("").empty())
    return fail(ErrorCode::invalid_argument, "say how you know: --reason TEXT");
  Decision decision{.as = *as, .who = context.io().user, .why = *given.find("reason")};
  if (auto fit = check_words(given, *as); !fit) return forward(fit);
  const std::string told =
      given.find(*as == Decision::As::failed ? "error" : "result").value_or("");
  auto text = text_of_word(told, context.io());
  if (!text) return forward(text);
  decision.result = *std::move(text);
  // Of one that a bundle claims to have made, the claim says it.
  const bool is_claimed = call.state == CallState::intended;
  if (*as == Decision::As::succeeded && decision.result.empty() && !is_claimed) {
    return fail(ErrorCode::invalid_argument,
                "say what it answered, for the model: --result TEXT or --result @FILE");
  }
  return decision;
}

CallWord word_of(const Decision& decision) {
  return {std::string(to_string(decision.as)), decision.who, decision.why};
}

Result<Exit> tell_dry(CommandContext& context, Store& store, const Call& call,
                      const Decision& decision) {
  auto before = find_overruled(store, call, word_of(decision));
  if (!before) return forward(before);
  const std::string name = call_name(call.session, call.position);
  context.output().document("perdure.decision/1", {{"session", call.session.text()},
                                                   {"call", name},
                                                   {"decision", to_string(decision.as)},
                                                   {"who", decision.who},
                                                   {"reason", decision.why},
                                                   {"taken", false},
                                                   {"overrules", as_json(*before)},
                                                   {"dry_run", true}});
  if (context.output().is_json()) return Exit::done;
  context.screen().line(
      fmt::format("Would settle {} ({}) as {}{}.", name, call.tool, to_string(decision.as),
                  *before ? fmt::format("; now it is {}", words_for(**before)) : ""));
  return Exit::done;
}

Result<Exit> run_resolve(CommandContext& context) {
  auto store = context.open();
  if (!store) return forward(store);
  auto call = find_call(**store, context.given().arguments.front(), {Need::decision, Need::resume});
  if (!call) return forward(call);
  if (auto open = check_unresolved(context, **store, *call); !open) return forward(open);
  auto decision = decision_of(context, *call);
  if (!decision) return forward(decision);
  const std::string name = call_name(call->session, call->position);
  const bool is_risky = decision->as == Decision::As::retry && call->effect == EffectClass::unsafe;
  if (context.given().has("dry-run")) return tell_dry(context, **store, *call, *decision);
  if (is_risky && !context.confirms(fmt::format(
                      "{} may have taken effect, and would be made again. Go on?", call->tool))) {
    return Exit::unconfirmed;
  }
  const Position position = call->position;
  return deliver(context, {.session = call->session,
                           .decision = std::string(to_string(decision->as)),
                           .about = name,
                           .reason = decision->why,
                           .wakes = true,
                           .post =
                               [&, position](Mail& mail, const MessageId& id) {
                                 return mail.resolve(id, position, *decision);
                               },
                           .confirm = confirm_in_force(**store, *call, word_of(*decision),
                                                       {{"decision", to_string(decision->as)},
                                                        {"result", decision->result},
                                                        {"who", decision->who},
                                                        {"why", decision->why}}),
                           .patience = decision_patience});
}

}  // namespace

Command resolve_command() {
  return {
      .name = "resolve",
      .summary = "Resolve a call in doubt",
      .details =
          "succeeded: it took effect; the model is told --result. failed: nothing happened; the "
          "model is told\n"
          "--error. retry: make it again (asks first if it is unsafe). abandoned: it may have "
          "happened; its key\n"
          "stays taken. The log keeps who decided and why.\n"
          "Where a bundle that nobody accepted says that a call was made already: succeeded "
          "believes it, "
          "and\n"
          "takes its result; retry makes the call.",
      .arguments = {call_argument},
      .options = {{.name = "as",
                   .value = "HOW",
                   .summary = "succeeded, failed, retry or abandoned",
                   .choices = {"succeeded", "failed", "retry", "abandoned"}},
                  {.name = "result",
                   .value = "TEXT",
                   .summary = "What it answered; @FILE reads a file, - stdin"},
                  {.name = "error",
                   .value = "TEXT",
                   .summary = "Why it failed; @FILE reads a file, - stdin"},
                  {.name = "reason",
                   .value = "TEXT",
                   .summary = "Evidence for the decision (required)"},
                  dry_option},
      .opens_store = true,
      .exits = {Exit::unconfirmed},
      .examples =
          {{"perdure resolve ses_7k2m --as succeeded --result rf_88 --reason 'seen in the console'",
            "it did happen"}},
      .schema = "perdure.decision/1",
      .run = run_resolve};
}

}  // namespace perdure::cli
