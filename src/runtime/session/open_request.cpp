// The money first, then the request: whoever reads only one of the two knows that it is over.

#include "session/open_request.hpp"

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/budget.hpp"
#include "perdure/runtime/call_records.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {

Result<void> add_end_of_request(Draft& draft, const HeldSession& held, Budget& budget,
                                const RequestEnd& end) {
  const Request& request = held.state().request->request;
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

}  // namespace perdure
