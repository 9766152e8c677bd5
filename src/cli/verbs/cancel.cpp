// Ending a session for good.

#include <fmt/format.h>
#include <string>

#include "context/decisions.hpp"
#include "context/sessions.hpp"
#include "perdure/runtime/session.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_cancel(CommandContext& context) {
  return deliver_stop(context, "cancelled", &Mail::cancel, "fork");
}

}  // namespace

Command cancel_command() {
  return {.name = "cancel",
          .summary = "End a session; it stays readable, and can be forked",
          .details = stop_details,
          .arguments = {session_argument},
          .options = {reason_option},
          .opens_store = true,
          .examples = {{"perdure cancel ses_5d0c", "nothing of it runs any more"}},
          .schema = "perdure.decision/1",
          .run = run_cancel};
}

}  // namespace perdure::cli
