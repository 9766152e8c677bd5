// Reading and making something of what was read cost about the same, so a thread of its own reads, a
// few pages ahead. A line that surely fits into one page needs none.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure {
namespace {

using Page = Result<std::vector<Entry>>;

constexpr std::size_t page_entries = 512;
// What is held twice, as rows of the store and as what was made of them.
constexpr std::size_t pages_ahead = 4;

bool is_last(const Page& page) { return !page || page->size() < page_entries; }

class PagesAhead {
 public:
  PagesAhead(std::function<Page(Position)> read, Position from)
      : read_(std::move(read)),
        reader_([this, from](const std::stop_token& stop) { run(stop, from); }) {}

  // In exchange for the one before, or for an empty one. Not after the last one.
  void next(Page& page) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !pages_.empty(); });
    used_.push_back(std::exchange(page, std::move(pages_.front())));
    pages_.pop_front();
    // To wake a thread costs as much as a page; so not for each.
    if (pages_.size() <= pages_ahead / 2) changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop, Position from) {
    for (bool is_done = false; !is_done && !stop.stop_requested();) {
      free_used();
      Page page = read_(from);
      is_done = is_last(page);
      if (!is_done) from = page->back().position + 1;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return pages_.size() < pages_ahead; })) return;
      pages_.push_back(std::move(page));
      changed_.notify_one();
    }
  }

  // Where they were made: memory that two threads hand to and fro is waited for.
  void free_used() {
    std::vector<Page> used;
    const std::scoped_lock lock(mutex_);
    used.swap(used_);
  }

  std::function<Page(Position)> read_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Page> pages_;
  std::vector<Page> used_;
  std::jthread reader_;  // The last member: it ends before what it uses.
};

Result<void> take_all(Page& page, const std::function<Result<void>(Entry&)>& take) {
  if (!page) return forward(page);
  for (Entry& entry : *page) {
    if (auto taken = guarded("`take`", [&] { return take(entry); }); !taken) return taken;
  }
  return {};
}

}  // namespace

Error missing_head(Store& store, const SessionId& session, Position head, Error error) {
  const auto row = store.sessions().read(session);
  const bool stays = row && head > 0 && row->head == head;
  if (error.code != ErrorCode::not_found || !stays) return error;
  return {ErrorCode::corrupted,
          fmt::format("the last entry of session {}, at position {}, is missing: the store is "
                      "damaged, and perdure check says more",
                      session.text(), head),
          session.text()};
}

Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                       const std::function<Result<void>(Entry&)>& take) {
  if (as_of == Point::head()) {
    auto row = store.sessions().read(session);
    if (!row) return forward(row);
    if (row->head == 0) return {};
    auto read = read_line(store, session, at_position(row->head), take);
    if (read) return read;
    return std::unexpected(missing_head(store, session, row->head, std::move(read).error()));
  }
  const auto read_from = [&](Position from) {
    return store.log().read(session, {.as_of = as_of, .from = from, .limit = page_entries});
  };
  Page page = std::vector<Entry>();
  if (as_of.kind() == Point::Kind::position && as_of.number() <= page_entries) {
    page = read_from(1);
    return take_all(page, take);
  }
  PagesAhead ahead(read_from, 1);
  do {
    ahead.next(page);
    if (auto taken = take_all(page, take); !taken) return taken;
  } while (!is_last(page));
  return {};
}

}  // namespace perdure
