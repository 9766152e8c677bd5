// A page is as much as is held twice: as rows of the store, and as what was made of them. The next one
// is read while this one is taken: reading and making something of it cost about the same.

#include <cstddef>
#include <functional>
#include <future>
#include <vector>

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
  const auto read_from = [&](Position from) {
    return store.log().read(session, {.as_of = as_of, .from = from, .limit = page_entries});
  };
  auto page = read_from(1);
  for (;;) {
    if (!page) return forward(page);
    std::future<Result<std::vector<Entry>>> next;
    if (page->size() == page_entries) next = std::async(read_from, page->back().position + 1);
    for (Entry& entry : *page) {
      if (auto taken = take(entry); !taken) return taken;
    }
    if (!next.valid()) return {};
    page = next.get();
  }
}

}  // namespace perdure
