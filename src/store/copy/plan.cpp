// What would be moved, asked of the source as a move would ask it.

#include "copy/plan.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

constexpr std::size_t sessions_at_once = 1000;

Result<std::vector<SessionId>> all_here(Store& from) {
  std::vector<SessionId> all;
  SessionQuery query{.limit = sessions_at_once};
  do {
    auto page = from.sessions().list(query);
    if (!page) return forward(page);
    if (page->is_damaged) {
      return fail(ErrorCode::corrupted,
                  "the list of sessions is damaged: some might be left behind");
    }
    for (SessionSummary& row : page->sessions) {
      if (row.moved_to.empty()) all.push_back(std::move(row.id));
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return all;
}

// Of those that are named, the ones that are not there yet.
Result<std::vector<SessionId>> left_to_go(Store& from, const MoveOptions& options) {
  std::vector<SessionId> left;
  for (const SessionId& session : options.sessions) {
    auto row = from.sessions().read(session);
    if (!row) return forward(row);
    if (row->moved_to.empty() || row->moved_to != options.place) left.push_back(session);
  }
  return left;
}

}  // namespace

Result<std::vector<SessionId>> plan_move(Store& from, const MoveOptions& options) {
  const bool is_all = options.sessions.empty();
  auto going = is_all ? all_here(from) : left_to_go(from, options);
  if (!going || going->empty()) return going;
  if (options.with_relatives && !is_all) going = copy::with_relatives(from, *std::move(going));
  auto owners = from.transfer().find_owners(is_all ? std::vector<SessionId>{} : *going);
  if (!owners) return forward(owners);
  return going;
}

namespace copy {

// A store names one missing relative at a time, as the subject of its refusal.
std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions) {
  while (!sessions.empty()) {
    const auto owners = store.transfer().find_owners(sessions);
    if (owners || owners.error().code != ErrorCode::conflict) break;
    auto missing = SessionId::parse(owners.error().subject);
    if (!missing || std::ranges::find(sessions, *missing) != sessions.end() ||
        !store.sessions().read(*missing)) {
      break;
    }
    sessions.push_back(*std::move(missing));
  }
  return sessions;
}

}  // namespace copy

}  // namespace perdure
