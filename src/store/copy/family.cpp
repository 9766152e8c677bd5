// A store names one missing relative at a time, as the subject of its refusal.

#include "copy/family.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::copy {

std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions) {
  while (!sessions.empty()) {
    const auto passage = store.transfer().show(sessions);
    if (passage || passage.error().code != ErrorCode::conflict) break;
    auto missing = SessionId::parse(passage.error().subject);
    if (!missing || std::ranges::find(sessions, *missing) != sessions.end() ||
        !store.sessions().read(*missing)) {
      break;
    }
    sessions.push_back(*std::move(missing));
  }
  return sessions;
}

}  // namespace perdure::copy
