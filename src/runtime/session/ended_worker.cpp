// Nothing is lost by a note that nobody needed: it says what is true.

#include "session/ended_worker.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {

Result<void> note_ended_worker(Store& store, const SessionSummary& row) {
  if (!row.moved_to.empty() || !row.holder || !row.holder->gone) return {};
  auto calls = store.ledger().list(
      {.session = row.id, .states = {CallState::dispatched, CallState::in_doubt}, .limit = 1});
  if (!calls) return forward(calls);
  if (calls->empty()) return {};
  constexpr std::size_t digits = 32;
  const std::string& worker = row.holder->worker.text();
  auto id = MessageId::parse("ended-" + to_hex(sha256(worker)).substr(0, digits));
  if (!id) return forward(id);
  return store.inbox().post({.session = row.id,
                             .id = *std::move(id),
                             .kind = std::string(ended_worker_kind),
                             .body = Body::from_text(Json(worker).text())});
}

Result<void> add_ended_worker(HeldSession& held, Draft& draft, std::string_view note) {
  const auto worker = parse_json(note);
  if (!worker || !worker->is_string()) return {};
  auto calls = dispatch::open_calls(held);
  if (!calls) return forward(calls);
  for (const dispatch::CallView& call : *calls) {
    const bool is_unresolved =
        call.row.state == CallState::dispatched || call.row.state == CallState::in_doubt;
    const bool is_theirs = call.open.worker == *worker->as_string();
    if (!is_unresolved || !is_theirs || call.open.ended_at || call.is_read_only()) continue;
    const std::string why = "the process that ran it has ended";
    dispatch::Records(held, draft).doubt(call, call.open.doubt.value_or(why), true);
  }
  return {};
}

}  // namespace perdure
