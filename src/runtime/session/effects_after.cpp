// What a fork would do again. What is done once in the tree is replayed, and not in the list.

#include <algorithm>
#include <limits>
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
#include "perdure/store/sessions.hpp"
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

// `intended_by`: of calls that were asked for later the line knows nothing.
Result<void> add_effects(Store& store, const SessionId& session, Position position,
                         Position intended_by, std::vector<Call>& again) {
  auto calls = store.ledger().list({.session = session,
                                    .states = {CallState::dispatched, CallState::succeeded,
                                               CallState::in_doubt, CallState::abandoned},
                                    .limit = limit_max});
  if (!calls) return forward(calls);
  for (Call& call : *calls) {
    // A call may be intended before the point and made after it: its outcome counts.
    const bool is_after = !call.result || *call.result > position;
    const bool is_known = call.position <= intended_by;
    if (is_after && is_known && is_made_again(store, session, call)) {
      again.push_back(std::move(call));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Call>> effects_after(Store& store, const SessionId& session, Position position) {
  std::vector<Call> again;
  Position intended_by = std::numeric_limits<Position>::max();
  std::vector<SessionId> seen{session};
  for (SessionId at = session;;) {
    if (auto added = add_effects(store, at, position, intended_by, again); !added) {
      return forward(added);
    }
    auto row = store.sessions().read(at);
    if (!row && row.error().code != ErrorCode::not_found) return forward(row);
    if (!row || !row->parent || row->parent->lineage != Lineage::fork) return again;
    // An id may be used again, also by a fork of its own descendant.
    if (std::ranges::find(seen, row->parent->session) != seen.end()) return again;
    seen.push_back(row->parent->session);
    // Past the point where it left its parent, a line has of that one only what is open there.
    if (position >= row->parent->position) intended_by = position = row->parent->position;
    at = row->parent->session;
  }
}

}  // namespace perdure
