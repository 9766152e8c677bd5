// What a fork would do again if its model asks for it again. What is done once in the tree is replayed,
// and not in the list.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

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

Result<void> add_effects(Store& store, const SessionId& session, Position position,
                         std::vector<Call>& again) {
  auto calls = store.ledger().list({.session = session,
                                    .states = {CallState::dispatched, CallState::succeeded,
                                               CallState::in_doubt, CallState::abandoned},
                                    .after = CallId{session, position},
                                    .limit = limit_max});
  if (!calls) return forward(calls);
  for (Call& call : *calls) {
    if (is_made_again(store, session, call)) again.push_back(std::move(call));
  }
  return {};
}

}  // namespace

Result<std::vector<Call>> effects_after(Store& store, const SessionId& session, Position position) {
  std::vector<Call> again;
  std::vector<SessionId> seen{session};
  for (SessionId at = session;;) {
    if (auto added = add_effects(store, at, position, again); !added) return forward(added);
    auto row = store.sessions().read(at);
    if (!row && row.error().code != ErrorCode::not_found) return forward(row);
    if (!row || !row->parent || row->parent->lineage != Lineage::fork) return again;
    // Past the point where it left its parent, its line has nothing of that one.
    if (position >= row->parent->position) return again;
    // An id may be used again, also by a fork of its own descendant.
    if (std::ranges::find(seen, row->parent->session) != seen.end()) return again;
    seen.push_back(row->parent->session);
    at = row->parent->session;
  }
}

std::string_view to_string(Carried as) {
  switch (as) {
    case Carried::runs:
      return "runs";
    case Carried::replays:
      return "replays";
    case Carried::told:
      return "told";
    case Carried::refused:
      return "refused";
  }
  return "";
}

}  // namespace perdure
