// Calls that were never begun, and reads that no longer run: nothing happened.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

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
  // Before the commit: what it does not settle is in doubt, and is not run.
  const std::vector<CallView> started = std::exchange(started_, {});
  std::size_t cancelled = started.size();
  for (const CallView& call : started) record(draft, call, not_begun());
  for (const CallView& call : *calls) {
    if (call.row.state != CallState::intended) {
      const bool is_recorded =
          std::ranges::find(started, call.call(), &CallView::call) != started.end();
      if (is_recorded || !call.is_read_only() || is_running(call.call())) continue;
      record(draft, call, {.outcome = Never{fmt::format("This call was stopped: {}.", why)}});
      ++cancelled;
      continue;
    }
    Records(held_, draft)
        .settle(call, CallState::cancelled,
                {.content = fmt::format("This call was not started: {}.", why), .is_error = true},
                {.who = "dispatcher", .why = why});
    ++cancelled;
  }
  return cancelled;
}

}  // namespace perdure::dispatch
