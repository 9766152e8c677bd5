// Stopping a session until it is resumed.

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {

Command pause_command() {
  return {
      .name = "pause",
      .summary = "Stop a session, also in the middle of a step, until it is resumed",
      .details = stop_details,
      .arguments = {session_argument},
      .options = {reason_option},
      .examples = {{"perdure pause @last --reason 'over night'", "it holds no process meanwhile"}},
      .schema = "perdure.decision/1",
      .body = stops("paused", &Mail::pause, "resume")};
}

}  // namespace perdure::cli
