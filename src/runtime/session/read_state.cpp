// The log, page by page, into a state. Pages keep a long log from being held twice.

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure {
namespace {

constexpr std::size_t page_entries = 512;

// What the runtime itself put into a blob for its size is read back; a user's channel keeps its
// references.
Result<void> load_blob(Store& store, Entry& entry) {
  const auto ref = entry.body.blob();
  // A note's own blob is read when somebody asks for the note.
  if (entry.channel == "scratchpad" && entry.kind == "blob") return {};
  if (!ref || !is_reserved(entry.channel) || entry.condition != Condition::intact) return {};
  auto bytes = store.blobs().get(*ref);
  if (bytes) {
    entry.body = Body::from_text(*std::move(bytes));
    return {};
  }
  const ErrorCode code = bytes.error().code;
  // The fold notes the entry as passed over; the session stays readable.
  if (code == ErrorCode::not_found || code == ErrorCode::corrupted) return {};
  return forward(bytes);
}

}  // namespace

Result<State> read_state(Store& store, const SessionId& session, Point as_of) {
  // It is read in pages: between two of them its owner may leave the line.
  if (as_of == Point::head()) {
    auto row = store.sessions().read(session);
    if (!row) return forward(row);
    as_of = at_position(row->head);
  }
  State state;
  LogQuery query{.as_of = as_of, .limit = page_entries};
  for (;;) {
    auto page = store.log().read(session, query);
    if (!page) return forward(page);
    for (Entry& entry : *page) {
      if (auto loaded = load_blob(store, entry); !loaded) return forward(loaded);
      fold(state, entry);
    }
    if (page->size() < page_entries) return state;
    query.from = page->back().position + 1;
  }
}

}  // namespace perdure
