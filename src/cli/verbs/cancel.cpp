// Ending a session for good.

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {

Command cancel_command() {
  return {.name = "cancel",
          .summary = "End a session; it stays readable, and can be forked",
          .details = stop_details,
          .arguments = {session_argument},
          .options = {reason_option},
          .examples = {{"perdure cancel ses_5d0c", "nothing of it runs any more"}},
          .schema = "perdure.decision/1",
          .body = stops("cancelled", &Mail::cancel, "fork")};
}

}  // namespace perdure::cli
