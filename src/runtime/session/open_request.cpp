// The money first, then the request: whoever reads only one of the two knows that it is over.

#include "session/open_request.hpp"

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"

namespace perdure {

Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                const RequestEnd& end) {
  if (!request.reservation.empty()) {
    auto entry = enter(
        budget, {.change = end.may_be_paid ? BudgetChange::unconfirmed : BudgetChange::release,
                 .subject = request.reservation,
                 .what = end.why});
    if (!entry) return forward(entry);
    draft.add(appending("budget", std::string(to_string(entry->change)), to_json(*entry)));
  }
  draft.add(appending("requests", end.may_be_paid ? "lost" : "withdrawn", to_json(request)));
  return {};
}

// The log is read before the store is asked: what could be lost in between was not read either.
Result<bool> is_known_unsent(Store& store, const Request& request) {
  if (!request.is_ahead || request.loss_token.empty()) return false;
  auto now = store.loss_token();
  if (!now) return forward(now);
  return *now == request.loss_token;
}

}  // namespace perdure
