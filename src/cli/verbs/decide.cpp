// What people decide about calls: how one in doubt ended, whether one may be made, what the answer is.

#include <expected>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/call_words.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "place/pending_calls.hpp"
#include "screen/screen.hpp"
#include "verbs/deliver.hpp"
#include "verbs/standing.hpp"
#include "verbs/values.hpp"
#include "world.hpp"

namespace perdure::cli {
namespace {

const Argument call_argument = {.name = "CALL",
                                .summary = "SES:POSITION, or SES if only one call of it is pending",
                                .by = Completes::call};
const Option dry_option = {.name = "dry-run", .summary = "Only say what would be done"};

std::unexpected<Error> wrong_state(const Call& call, std::string_view wanted) {
  return fail(ErrorCode::conflict,
              fmt::format("{} ({}) is {}: {}", call_name(call.session, call.position), call.tool,
                          to_string(call.state), wanted));
}

// Longer than somebody else's decision takes; an owner that runs the session takes it up later.
constexpr Duration decision_patience{3000};

// Bytes that are not UTF-8 do not come back as they were sent: what both are as JSON is compared.
bool says(const Json& body, std::string_view member, const Json& value) {
  const Json* found = body.find(member);
  return found != nullptr && found->text() == value.text();
}

// What is to be done with a call that was not made yet.
std::string word_command(const Desk& desk, const Call& call) {
  const std::string name = call_name(call.session, call.position);
  if (asks_people(call.tool)) return desk.command(fmt::format("answer {} TEXT", name));
  return fmt::format("{}, or {}", desk.command("approve " + name),
                     desk.command(fmt::format("deny {} --reason TEXT", name)));
}

Result<void> check_unresolved(const Desk& desk, Store& store, const Call& call) {
  auto row = store.sessions().read(call.session);
  if (!row) return forward(row);
  switch (call.state) {
    case CallState::in_doubt:
      return {};
    case CallState::intended: {
      auto state = read_state(store, call.session, {});
      if (!state) return forward(state);
      if (need_of(call, *row, &*state) == Need::decision) return {};
      return wrong_state(
          call, "it was not made yet, so there is nothing to resolve; " + word_command(desk, call));
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

Result<Decision> decision_of(Desk& desk, const Call& call) {
  const Invocation& given = desk.given();
  const auto as = decision_from(given.find("as").value_or(""));
  if (!as)
    return fail(ErrorCode::invalid_argument,
                "say how it ended: --as succeeded, failed, retry or abandoned");
  if (given.find("reason").value_or("").empty())
    return fail(ErrorCode::invalid_argument, "say how you know: --reason TEXT");
  Decision decision{.as = *as, .who = desk.world().user, .why = *given.find("reason")};
  if (auto fit = check_words(given, *as); !fit) return forward(fit);
  const std::string told =
      given.find(*as == Decision::As::failed ? "error" : "result").value_or("");
  auto text = text_of_word(told, desk.world());
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

Result<Exit> tell_dry(Desk& desk, Store& store, const Call& call, const Decision& decision) {
  auto before = find_overruled(store, call, word_of(decision));
  if (!before) return forward(before);
  const std::string name = call_name(call.session, call.position);
  desk.output().document("perdure.decision/1", {{"session", call.session.text()},
                                                {"call", name},
                                                {"decision", to_string(decision.as)},
                                                {"who", decision.who},
                                                {"reason", decision.why},
                                                {"taken", false},
                                                {"overrules", as_json(*before)},
                                                {"dry_run", true}});
  if (desk.output().is_json()) return Exit::done;
  desk.screen().line(
      fmt::format("Would settle {} ({}) as {}{}.", name, call.tool, to_string(decision.as),
                  *before ? fmt::format("; now it is {}", words_for(**before)) : ""));
  return Exit::done;
}

Result<Exit> run_resolve(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto call = find_call(**store, desk.given().arguments.front(), {Need::decision, Need::resume});
  if (!call) return forward(call);
  if (auto open = check_unresolved(desk, **store, *call); !open) return forward(open);
  auto decision = decision_of(desk, *call);
  if (!decision) return forward(decision);
  const std::string name = call_name(call->session, call->position);
  const bool is_risky = decision->as == Decision::As::retry && call->effect == EffectClass::unsafe;
  if (desk.given().has("dry-run")) return tell_dry(desk, **store, *call, *decision);
  if (is_risky && !desk.confirms(fmt::format(
                      "{} may have taken effect, and would be made again. Go on?", call->tool))) {
    return Exit::unconfirmed;
  }
  const Position position = call->position;
  return deliver(
      desk,
      {.session = call->session,
       .decision = std::string(to_string(decision->as)),
       .about = name,
       .reason = decision->why,
       .wakes = true,
       .post = [&, position](Mail& mail,
                             const MessageId& id) { return mail.resolve(id, position, *decision); },
       .confirm =
           [&](std::optional<Position> since) {
             if (!since) return find_overruled(**store, *call, word_of(*decision));
             return check_stands(**store, *call, *since, [&](const Json& body) {
               return says(body, "decision", to_string(decision->as)) &&
                      says(body, "result", decision->result) && says(body, "who", decision->who) &&
                      says(body, "why", decision->why);
             });
           },
       .patience = decision_patience});
}

// Whoever allows a call sees which, with all that it is given.
Result<void> show_call(Desk& desk, Store& store, const Call& call) {
  auto state = read_state(store, call.session, Point::head());
  if (!state) return forward(state);
  const auto open = state->open_calls.find(call.position);
  constexpr std::string_view unreadable = "with arguments that can no longer be read";
  const std::string_view args = open == state->open_calls.end()
                                    ? unreadable
                                    : args_of(*state, open->second).value_or(unreadable);
  Screen screen = desk.question();
  screen.line({{"Call: ", Ink::dim},
               {call.tool, Ink::bold},
               {fmt::format(" ({}) ", to_string(call.effect))},
               {std::string(args)}});
  screen.flush();
  return {};
}

struct Say {
  bool allow = false;
  bool overrules = false;  ///< A denial that was seen.
  std::string decision{};  ///< As it is told.
  std::string why{};
};

// Where somebody has denied it, it is allowed by whoever says so again. The log tells both names to the
// one who denied it: the reason says what it overrules.
Result<Say> say_to_allow(Desk& desk, Store& store, const Call& call) {
  const std::string reason = desk.given().find("reason").value_or("");
  Say say{.allow = true, .decision = "approved", .why = reason};
  auto denied = find_denial(store, call);
  if (!denied) return forward(denied);
  if (!*denied) return say;
  const std::string who = words_for(**denied);
  const World& world = desk.world();
  const bool can_ask = world.is_in_terminal && world.is_err_terminal;
  const bool overrules =
      desk.given().has("overrule") ||
      (can_ask && desk.confirms(fmt::format("{} was {}. Allow it all the same?", call.tool, who)));
  if (!overrules) {
    return fail(ErrorCode::conflict,
                fmt::format("{} ({}) was {}: to allow it all the same, say --overrule",
                            call_name(call.session, call.position), call.tool, who),
                "call_denied");
  }
  say.overrules = true;
  say.why = fmt::format("{}{}overrules: {}", reason, reason.empty() ? "" : "; ", who);
  return say;
}

Result<Exit> give_word(Desk& desk, Store& store, const Call& call, const Say& say) {
  const std::string name = call_name(call.session, call.position);
  if (call.state == CallState::in_doubt)
    return wrong_state(
        call, "it was made, and nobody knows what became of it: " + settle_command(desk, name));
  if (call.state != CallState::intended)
    return wrong_state(call, "only a call that was not made yet can be allowed or denied");
  const std::string& who = desk.world().user;
  return deliver(desk, {.session = call.session,
                        .decision = say.decision,
                        .about = name,
                        .reason = say.why,
                        .wakes = true,
                        .heard = "takes this up at the next step, if the call is not made by then",
                        .post =
                            [&](Mail& mail, const MessageId& id) {
                              return mail.approve(id, call.position, say.allow, who, say.why,
                                                  say.overrules);
                            },
                        .confirm =
                            [&](std::optional<Position> since) {
                              if (!since)
                                return find_overruled(store, call, {say.decision, who, say.why});
                              return check_stands(store, call, *since, [&](const Json& body) {
                                return says(body, "allow", say.allow) && says(body, "who", who) &&
                                       says(body, "why", say.why);
                              });
                            },
                        .patience = decision_patience});
}

// An approval is a yes, an answer is a yes with words. To a call that waits for a yes or a no, "no" would
// be a yes; to a question, a yes without words would be told to the model as its answer.
Result<void> check_is_question(const Desk& desk, const Call& call, bool is_wanted) {
  if (call.state != CallState::intended || asks_people(call.tool) == is_wanted) return {};
  return fail(ErrorCode::conflict,
              fmt::format("{} ({}) {}: {}", call_name(call.session, call.position), call.tool,
                          is_wanted ? "asks nothing, it waits for approval"
                                    : "is a question, and waits for an answer",
                          word_command(desk, call)));
}

Result<Exit> run_approve(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto call = find_call(**store, desk.given().arguments.front(), {Need::approval});
  if (!call) return forward(call);
  if (auto fits = check_is_question(desk, *call, false); !fits) return forward(fits);
  if (call->state == CallState::intended) {
    if (auto shown = show_call(desk, **store, *call); !shown) return forward(shown);
  }
  auto say = say_to_allow(desk, **store, *call);
  if (!say) return forward(say);
  return give_word(desk, **store, *call, *say);
}

Result<Exit> run_deny(Desk& desk) {
  const auto reason = desk.given().find("reason");
  if (reason.value_or("").empty())
    return fail(ErrorCode::invalid_argument, "say why, for the model: --reason TEXT");
  auto store = desk.open();
  if (!store) return forward(store);
  auto call = find_call(**store, desk.given().arguments.front(), {Need::approval, Need::answer});
  if (!call) return forward(call);
  return give_word(desk, **store, *call, {.decision = "denied", .why = *reason});
}

Result<Exit> run_answer(Desk& desk) {
  auto text = text_of_word(desk.given().arguments.at(1), desk.world());
  if (!text) return forward(text);
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(ErrorCode::invalid_argument, "say what the answer is: it is empty");
  }
  auto store = desk.open();
  if (!store) return forward(store);
  auto call = find_call(**store, desk.given().arguments.front(), {Need::answer});
  if (!call) return forward(call);
  if (auto fits = check_is_question(desk, *call, true); !fits) return forward(fits);
  return give_word(
      desk, **store, *call,
      {.allow = true, .overrules = true, .decision = "answered", .why = *std::move(text)});
}

}  // namespace

Command resolve_command() {
  return {
      .name = "resolve",
      .summary = "Settle a call whose outcome nobody knows",
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
                  {.name = "reason", .value = "TEXT", .summary = "How you know; needed"},
                  dry_option},
      .opens_store = true,
      .exits = {Exit::unconfirmed},
      .examples =
          {{"perdure resolve ses_7k2m --as succeeded --result rf_88 --reason 'seen in the console'",
            "it did happen"}},
      .schema = "perdure.decision/1",
      .run = run_resolve};
}

Command approve_command() {
  return {
      .name = "approve",
      .summary = "Allow a call that waits for somebody's word",
      .details =
          "The tool and its arguments are printed first. A call that somebody has denied is "
          "allowed only if you confirm it, at a terminal or with --overrule; the log then names "
          "both.",
      .arguments = {call_argument},
      .options = {{.name = "reason", .value = "TEXT", .summary = "Why"},
                  {.name = "overrule", .summary = "Also if somebody has denied it"}},
      .opens_store = true,
      .exits = {Exit::unconfirmed},
      .examples = {{"perdure approve ses_8e1f", "let it be made"}},
      .schema = "perdure.decision/1",
      .run = run_approve};
}

Command deny_command() {
  return {
      .name = "deny",
      .summary = "Refuse a call that waits for somebody's word",
      .details =
          "It is not made, and the model is told why, unless somebody allows it before the session "
          "goes on. A question that is denied stays without an answer.",
      .arguments = {call_argument},
      .options = {{.name = "reason", .value = "TEXT", .summary = "Why; the model is told. Needed"}},
      .opens_store = true,
      .examples = {{"perdure deny ses_8e1f --reason 'not to customers'", "it is not made"}},
      .schema = "perdure.decision/1",
      .run = run_deny};
}

Command answer_command() {
  return {.name = "answer",
          .summary = "Answer an agent's question",
          .arguments = {call_argument,
                        {.name = "TEXT", .summary = "The answer; @FILE reads a file, - stdin"}},
          .opens_store = true,
          .examples = {{"perdure answer ses_6a3e 'The blue one'", "the agent goes on with it"}},
          .schema = "perdure.decision/1",
          .run = run_answer};
}

}  // namespace perdure::cli
