// One session's rows in PostgreSQL, for the check that every backend shares.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "postgres/client/connection.hpp"
#include "rules/stored_session.hpp"

namespace perdure::postgres {

// Rows of one table in the order of a key, a page at a time: whoever goes through a history asks for
// one row after the other, and pays a round trip for many of them.

/// What a page has at most, in rows and in bytes; a larger body makes a page of its own.
inline constexpr std::int64_t page_rows = 500;
inline constexpr std::int64_t page_bytes = std::int64_t{16} << 20U;

template <class Row>
class Pages {
 public:
  using Page = std::deque<std::pair<std::uint64_t, Row>>;
  /// The rows from a key on, as many as one likes to have in memory; none only if there is none.
  using Fetch = std::function<Page(std::uint64_t from)>;

  explicit Pages(Fetch fetch) : fetch_(std::move(fetch)) {}

  /// The first row at or after `key`, with its own key; null if there is none. Asked for rising
  /// keys, it reads each row once. Valid until the next call.
  [[nodiscard]] std::pair<std::uint64_t, Row>* seek(std::uint64_t key) {
    if (key < from_) {
      page_.clear();
      is_at_end_ = false;
    }
    from_ = key;
    while (!page_.empty() && page_.front().first < key) page_.pop_front();
    if (page_.empty() && !is_at_end_) {
      page_ = fetch_(key);
      is_at_end_ = page_.empty();
    }
    return page_.empty() ? nullptr : &page_.front();
  }

 private:
  Fetch fetch_;
  Page page_{};
  std::uint64_t from_ = 0;
  bool is_at_end_ = false;
};

/// `db` must outlive it. The session's own row need not be there any more.
[[nodiscard]] std::unique_ptr<rules::StoredSession> stored_session(Connection& db,
                                                                   std::int64_t number);

}  // namespace perdure::postgres
