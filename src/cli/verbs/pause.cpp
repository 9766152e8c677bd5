// Stopping a session until it is resumed.

#include <fmt/format.h>
#include <string>

#include "context/decisions.hpp"
#include "context/sessions.hpp"
#include "perdure/runtime/session.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_pause(CommandContext& context) {
  return deliver_stop(context, "paused", &Mail::pause, "resume");
}

}  // namespace

Command pause_command() {
  return {
      .name = "pause",
      .summary = "Stop a session, also in the middle of a step, until it is resumed",
      .details = stop_details,
      .arguments = {session_argument},
      .options = {reason_option},
      .opens_store = true,
      .examples = {{"perdure pause @last --reason 'over night'", "it holds no process meanwhile"}},
      .schema = "perdure.decision/1",
      .run = run_pause};
}

}  // namespace perdure::cli
