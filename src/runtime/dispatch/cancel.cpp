// Calls that were never begun: nothing happened, and nobody has to find out.

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "dispatch/attempts.hpp"
#include "dispatch/dispatcher.hpp"
#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "session/draft.hpp"

namespace perdure::dispatch {

Result<std::size_t> Dispatcher::cancel_unbegun(Draft& draft, const std::string& why) {
  auto calls = open_calls(held_);
  if (!calls) return forward(calls);
  then_ = nullptr;
  std::size_t cancelled = started_.size();
  // Before the commit: what it does not settle is in doubt, and is not run.
  for (const CallView& call : std::exchange(started_, {})) record(draft, call, not_begun());
  for (const CallView& call : *calls) {
    if (call.row.state != CallState::intended) continue;
    Records(held_, draft)
        .settle(call, CallState::cancelled,
                {.content = fmt::format("This call was not started: {}.", why), .is_error = true},
                {.who = "dispatcher", .why = why});
    ++cancelled;
  }
  return cancelled;
}

}  // namespace perdure::dispatch
