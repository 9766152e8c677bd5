// The inbox of a memory store. Messages leave it by a commit only.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/roles.hpp"
#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/checks.hpp"
#include "rules/moves.hpp"

namespace perdure::memory {

Result<void> MemoryStore::post(const NewInboxMessage& message) {
  auto checked = rules::check(message);
  if (!checked) return checked;
  return base_.state.with([&](State& state) -> Result<void> {
    auto table = find_session(state, message.session);
    if (!table) return forward(table);
    InboxTable& inbox = (*table)->inbox;
    if (auto here = rules::check_here(message.session, (*table)->moved); !here) return here;
    if (inbox.messages.contains(message.id)) return {};
    if (auto there = require_blob(state, message.body); !there) return there;

    const Timestamp now = base_.clock.now();
    const std::uint64_t arrival = ++state.messages;
    inbox.messages.emplace(message.id,
                           MessageRow{arrival, message.kind, message.body.codec(), now});
    inbox.pending.emplace(
        arrival, InboxMessage{message.session, message.id, message.kind, message.body, now});

    SessionSummary& row = (*table)->row;
    const bool is_sleeping = !row.wake_at || *row.wake_at > now;
    if (row.status == Status::waiting && is_sleeping) row.wake_at = now;
    ++row.revision;
    state.note_change();
    return {};
  });
}

Result<std::vector<InboxMessage>> MemoryStore::list(const SessionId& session, std::size_t limit) {
  auto checked = rules::check_limit(limit);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<std::vector<InboxMessage>> {
    auto table = find_session(state, session);
    if (!table) return forward(table);
    std::vector<InboxMessage> messages;
    for (const auto& [arrival, message] : (*table)->inbox.pending) {
      if (messages.size() == limit) break;
      messages.push_back(message);
    }
    state.counters.rows_read += messages.size();
    return messages;
  });
}

}  // namespace perdure::memory
