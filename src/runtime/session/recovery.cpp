// Taking a session up: the log says what was begun, and each thing is ended or noted.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/foresight.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/children.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/open_request.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

// Whether it was made, and what it cost, nobody here may know: then it counts as spent.
Result<bool> give_up_request(HeldSession& held) {
  if (!held.state().request) return false;
  Store& store = held.world().store;
  auto row = store.sessions().read(held.lease().session);
  if (!row) return forward(row);
  auto is_lost = has_lost_a_response(store, *row, held.state());
  if (!is_lost) return forward(is_lost);
  Draft draft = held.draft();
  Budget budget = held.state().budget;
  const Request& request = held.state().request->request;
  const RequestEnd end{.why = !*is_lost          ? "it was not made"
                              : request.is_ahead ? "nobody knows whether it was made"
                                                 : "its response was lost",
                       .may_be_paid = *is_lost};
  if (auto added = add_end_of_request(draft, request, budget, end); !added) return forward(added);
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return *is_lost;
}

// They are neither made nor asked about again in a session that has ended: what is not known of them
// a person may find out.
Result<void> put_begun_calls_in_doubt(HeldSession& held) {
  auto calls = dispatch::open_calls(held);
  if (!calls) return forward(calls);
  Draft draft = held.draft();
  dispatch::Records records(held, draft);
  const std::string why = "its outcome was never recorded, and its session has ended";
  for (const dispatch::CallView& call : *calls) {
    if (call.row.state != CallState::dispatched) continue;
    if (call.is_read_only()) {
      records.settle(call, CallState::failed, {.content = why, .is_error = true}, {.why = why});
    } else {
      records.doubt(call, why, call.open.ended_at.has_value());
    }
  }
  if (draft.batch.entries.empty()) return {};
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace

Result<bool> has_lost_a_response(Store& store, const SessionSummary& row, const State& state) {
  if (!state.request) return false;
  // What a fork has of its parent, only that one may have made.
  const bool is_parents = row.parent && row.parent->lineage == Lineage::fork &&
                          state.request->position <= row.parent->position;
  if (is_parents) return false;
  auto is_unsent = is_known_unsent(store, state.request->request);
  if (!is_unsent) return forward(is_unsent);
  return !*is_unsent;
}

Result<RecoveryReport> Runtime::recover(Session& session) {
  HeldSession& held = session.parts().held;
  RecoveryReport report{.entries = held.state().entries,
                        .steps = static_cast<std::uint64_t>(held.state().totals.steps)};
  // What has ended begins nothing; what it had begun is recorded all the same, and its parent may not
  // have heard of its end.
  if (auto told = tell_parent(session.parts()); !told) return forward(told);
  auto lost = give_up_request(held);
  if (!lost) return forward(lost);
  report.lost_a_response = *lost;
  if (auto taken = session.take_inbox(); !taken) return forward(taken);
  if (auto asked = ask_children(session.parts()); !asked) return forward(asked);
  if (!held.has_ended()) return report;
  if (auto noted = put_begun_calls_in_doubt(held); !noted) return forward(noted);
  return report;
}

Result<Resumed> Runtime::resume(const SessionId& id, std::optional<Message> input, Duration wait,
                                const std::stop_token& stop) {
  const Uptime begin = options_.clock->uptime();
  auto session = open(id, wait, stop);
  if (!session) return forward(session);
  const HeldSession& held = session->parts().held;
  const bool had_ended = held.has_ended();
  if (auto goes_on = held.check_goes_on(); had_ended && input) return forward(goes_on);
  auto report = recover(*session);
  if (!report) return forward(report);
  if (had_ended) return Resumed{*std::move(session), *std::move(report)};
  // What lay in the inbox may have stopped it.
  if (held.check_goes_on()) {
    auto calls = session->run_calls(stop);
    if (!calls) return forward(calls);
    report->calls = *std::move(calls);
  }
  if (input) {
    if (auto said = session->append(*std::move(input)); !said) return forward(said);
  }
  report->took = options_.clock->uptime() - begin;
  return Resumed{*std::move(session), *std::move(report)};
}

}  // namespace perdure
