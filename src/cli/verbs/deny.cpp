// Refusing a call, with a reason for the model.

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_deny(CommandContext& context, Store& store, const Call& call) {
  return deliver_permission(
      context, store, call,
      {.decision = "denied", .why = context.given().find("reason").value_or("")});
}

}  // namespace

Command deny_command() {
  return {.name = "deny",
          .summary = "Deny a call that waits for approval",
          .details =
              "It is not made, and the model is told why, unless a person approves it before the "
              "session resumes. A question that is denied stays without an answer.",
          .arguments = {call_argument},
          .options = {{.name = "reason",
                       .value = "TEXT",
                       .summary = "Why; the model sees it (required)",
                       .missing = "say why, for the model: --reason TEXT"}},
          .examples = {{"perdure deny ses_8e1f --reason 'not to customers'", "it is not made"}},
          .schema = "perdure.decision/1",
          .body = on_call({Need::approval, Need::answer}, run_deny)};
}

}  // namespace perdure::cli
