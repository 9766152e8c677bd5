// Allowing a call. The tool and its arguments are shown first.

#include "context/calls.hpp"
#include "runtime/api/state_details.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// A person who allows a call sees which, with all its arguments.
Result<void> show_call(CommandContext& context, Store& store, const Call& call) {
  auto state = read_state(store, call.session, Point::head());
  if (!state) return forward(state);
  const OpenCall* const open = find_open_call(*state, call.position);
  constexpr std::string_view unreadable = "with arguments that can no longer be read";
  const std::string_view args =
      open == nullptr ? unreadable : args_of(*state, *open).value_or(unreadable);
  Screen screen = context.question();
  screen.line({{"Call: ", Ink::dim},
               {call.tool, Ink::bold},
               {fmt::format(" ({}) ", to_string(call.effect))},
               {std::string(args)}});
  screen.flush();
  return {};
}

// Where it was denied, allowing it takes a second confirmation. The log shows both names to the one
// who denied it: the reason says what it overrules.
Result<Permission> permission_for(CommandContext& context, Store& store, const Call& call) {
  const std::string reason = context.given().find("reason").value_or("");
  Permission permission{.allow = true, .decision = "approved", .why = reason};
  auto denied = find_denial(store, call);
  if (!denied) return forward(denied);
  if (!*denied) return permission;
  const std::string who = words_for(**denied);
  const bool overrules =
      context.given().has("overrule") ||
      (context.can_ask() &&
       context.confirms(fmt::format("{} was {}. Allow it all the same?", call.tool, who)));
  if (!overrules) {
    return fail(ErrorCode::conflict,
                fmt::format("{} ({}) was {}: to allow it all the same, say --overrule",
                            call_name(call.session, call.position), call.tool, who),
                "call_denied");
  }
  permission.overrules = true;
  permission.why = fmt::format("{}{}overrules: {}", reason, reason.empty() ? "" : "; ", who);
  return permission;
}

Result<Exit> run_approve(CommandContext& context, Store& store, const Call& call) {
  if (auto fits = check_is_question(context, call, false); !fits) return forward(fits);
  if (call.state == CallState::intended) {
    if (auto shown = show_call(context, store, call); !shown) return forward(shown);
  }
  auto permission = permission_for(context, store, call);
  if (!permission) return forward(permission);
  return deliver_permission(context, store, call, *permission);
}

}  // namespace

Command approve_command() {
  return {.name = "approve",
          .summary = "Approve a call that waits for approval",
          .details =
              "The tool and its arguments are printed first. A call that was denied is "
              "approved only if you confirm it, at a terminal or with --overrule; the log then "
              "names both.",
          .arguments = {call_argument},
          .options = {{.name = "reason", .value = "TEXT", .summary = "Why"},
                      {.name = "overrule", .summary = "Even if the call was denied"}},
          .exits = {Exit::unconfirmed},
          .examples = {{"perdure approve ses_8e1f", "let it be made"}},
          .schema = "perdure.decision/1",
          .body = on_call({Need::approval}, run_approve)};
}

}  // namespace perdure::cli
