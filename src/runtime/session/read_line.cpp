// A page is as much as is held twice: as rows of the store, and as what was made of them.

#include <cstddef>
#include <functional>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure {
namespace {

constexpr std::size_t page_entries = 512;

}  // namespace

Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                       const std::function<Result<void>(Entry&)>& take) {
  if (as_of == Point::head()) {
    auto row = store.sessions().read(session);
    if (!row) return forward(row);
    as_of = at_position(row->head);
  }
  LogQuery query{.as_of = as_of, .limit = page_entries};
  for (;;) {
    auto page = store.log().read(session, query);
    if (!page) return forward(page);
    for (Entry& entry : *page) {
      if (auto taken = take(entry); !taken) return taken;
    }
    if (page->size() < page_entries) return {};
    query.from = page->back().position + 1;
  }
}

}  // namespace perdure
