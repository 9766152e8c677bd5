// A blob is read when its text is needed, and only then.

#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/blobs.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"
#include "state/line_fold.hpp"

namespace perdure {
namespace {

// What the runtime itself put into a blob for its size is read back; a user's channel keeps its
// references, and a note's own blob is read when somebody asks for the note.
bool is_in_blob_for_size(const Entry& entry) {
  return is_reserved(entry.channel) && !(entry.channel == "scratchpad" && entry.kind == "blob");
}

template <class Take>
Result<void> hand_to(Store& store, const SessionId& session, Point as_of, Take take) {
  return read_line(store, session, as_of, [&](Entry& entry) -> Result<void> {
    if (is_in_blob_for_size(entry)) {
      if (auto loaded = load_blob(store.blobs(), entry); !loaded) return loaded;
    }
    take(entry);
    return {};
  });
}

}  // namespace

Result<State> read_state(Store& store, const SessionId& session, Point as_of) {
  folding::LineFold line;
  if (auto read = hand_to(store, session, as_of, [&](Entry& entry) { line.take(entry); }); !read) {
    return forward(read);
  }
  if (auto state = line.finish()) return *std::move(state);
  State state;
  if (auto read = hand_to(store, session, as_of, [&](Entry& entry) { fold(state, entry); });
      !read) {
    return forward(read);
  }
  return state;
}

// What a fork shows of its parent's calls is in the parent's ledger.
Result<std::vector<Position>> find_damage(Store& store, const SessionId& session,
                                          const State& state) {
  std::vector<Position> places;
  for (const Skipped& skipped : state.skipped) {
    if (skipped.reason == SkipReason::damaged) places.push_back(skipped.position);
  }
  if (state.open_calls.empty()) return places;
  auto row = store.sessions().read(session);
  if (!row) return forward(row);
  const bool is_fork = row->parent && row->parent->lineage == Lineage::fork;
  const Position shared = is_fork ? row->parent->position : 0;
  for (const auto& [position, open] : state.open_calls) {
    if (position <= shared) continue;
    auto call = store.ledger().read(session, position);
    if (!call && call.error().code != ErrorCode::not_found) return forward(call);
    if (!call) places.push_back(position);
  }
  return places;
}

}  // namespace perdure
