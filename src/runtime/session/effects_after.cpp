// What a fork would do again. What is done once in the tree is replayed, and not in the list.

#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/call_records.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

bool is_made_again(Store& store, const SessionId& session, const Call& call) {
  if (call.effect == EffectClass::read_only) return false;
  const auto intent =
      store.log().read(session, {.as_of = Point::position(call.position), .from = call.position});
  if (!intent || intent->empty()) return true;
  const auto read = intent_from_json(intent->front().body.bytes());
  return !read || read->repeat == to_string(Repeat::each_call);
}

}  // namespace

Result<std::vector<Call>> effects_after(Store& store, const SessionId& session, Position position) {
  auto calls = store.ledger().list({.session = session,
                                    .states = {CallState::dispatched, CallState::succeeded,
                                               CallState::in_doubt, CallState::abandoned},
                                    .limit = limit_max});
  if (!calls) return forward(calls);
  std::vector<Call> again;
  for (Call& call : *calls) {
    // A call may be intended before the point and made after it: its outcome counts.
    const bool is_after = !call.result || *call.result > position;
    if (is_after && is_made_again(store, session, call)) again.push_back(std::move(call));
  }
  return again;
}

}  // namespace perdure
