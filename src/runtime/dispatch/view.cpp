// The ledger has a row for a call only in the session that issued it.

#include "dispatch/view.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

Result<std::vector<CallView>> open_calls(HeldSession& held) {
  std::vector<CallView> calls;
  for (const auto& [position, open] : held.state().open_calls) {
    auto row = held.world().store.ledger().read(held.lease().session, position);
    if (!row && row.error().code == ErrorCode::not_found) continue;
    if (!row) return forward(row);
    CallView view{.open = open, .row = *std::move(row)};
    view.tool = held.world().tools.find(open.tool);
    if (const auto text = args_of(held.state(), open)) {
      if (auto args = parse_json(*text)) view.args = std::make_shared<const Json>(*std::move(args));
    }
    calls.push_back(std::move(view));
  }
  return calls;
}

bool lost_a_claim(const Error& error, const std::vector<CallView>& dispatched) {
  const bool names_a_call = error.subject.find(':') != std::string::npos;
  if (error.code != ErrorCode::conflict || !names_a_call) return false;
  return !dispatched.empty() && std::ranges::none_of(dispatched, [&](const CallView& call) {
    return call_name(call.row.session, call.call()) == error.subject;
  });
}

}  // namespace perdure::dispatch
