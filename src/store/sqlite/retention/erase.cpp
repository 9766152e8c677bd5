// In a file, bytes are in more places than one: in their row; where SQLite moved the row
// from; in pages that are free; in the WAL, which has older copies of pages. So a body is
// overwritten in its row, free pages are given back, the unused parts of pages are
// overwritten, and the WAL is written back and cut to nothing, in this order.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/retention/scrub.hpp"
#include "sqlite/retention/vacuum.hpp"

namespace perdure::sqlite {
namespace {

/// As long as one of them, at most 50 ms, a reader that began before can hold the WAL.
constexpr int attempts_max = 40;
/// Of all pages, while others may write.
constexpr int looks_max = 4;

/// What is deleted meanwhile is overwritten with zeros.
class Overwriting {
 public:
  explicit Overwriting(Connection& db) : db_(db) { set("ON"); }
  ~Overwriting() { set("OFF"); }
  Overwriting(const Overwriting&) = delete;
  Overwriting& operator=(const Overwriting&) = delete;

 private:
  void set(const char* state) {
    const std::string statement = fmt::format("PRAGMA secure_delete = {}", state);
    sqlite3_exec(db_.handle(), statement.c_str(), nullptr, nullptr, nullptr);
  }

  Connection& db_;
};

Result<std::vector<std::int64_t>> find_keys(Connection& db, const SessionId& session,
                                            const std::vector<Position>& positions) {
  auto number = require_session(db, session);
  if (!number) return forward(number);
  std::vector<std::int64_t> keys;
  keys.reserve(positions.size());
  for (const Position position : positions) {
    const auto place = find_entry(db, *number, position);
    if (!place) {
      return fail(ErrorCode::not_found,
                  fmt::format("session {} has no entry at position {}", session.text(), position));
    }
    keys.push_back(entry_key(place->segment, place->position));
  }
  return keys;
}

class Erasure {
 public:
  explicit Erasure(std::vector<std::int64_t> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] bool slice(Connection& db) {
    const Overwriting overwriting(db);
    std::uint64_t bytes = 0;
    for (int rows = 0; next_ < keys_.size() && rows < slice_rows && bytes < slice_bytes; ++rows) {
      bytes += erase(db, keys_[next_++]);
    }
    freed_.bytes += bytes;
    return next_ < keys_.size();
  }

  [[nodiscard]] const Freed& freed() const { return freed_; }

 private:
  std::uint64_t erase(Connection& db, std::int64_t key) {
    std::uint64_t bytes = 0;
    {
      Rows rows = db.query("SELECT octet_length(body) FROM entry WHERE id = ? AND codec >= 0", key);
      if (!rows.next()) return 0;
      bytes = rows.number(0);
    }
    db.run("UPDATE entry SET body = NULL, codec = -1 - codec WHERE id = ?", key);
    ++freed_.items;
    return bytes;
  }

  const std::vector<std::int64_t> keys_;
  std::size_t next_ = 0;
  Freed freed_;
};

/// What one state of the file still has to get rid of.
struct Leftovers {
  std::vector<std::uint32_t> pages;
  bool has_free_pages = false;
};

Result<Leftovers> look(Access access) {
  return access.readers.read([](Connection& db) -> Result<Leftovers> {
    Rows rows = db.query("PRAGMA freelist_count");
    return Leftovers{.pages = find_unclean(db),
                     .has_free_pages = rows.next() && rows.integer(0) > 0};
  });
}

Result<void> overwrite(Slices& slices, std::vector<std::uint32_t> pages) {
  return slices.run([&](Connection& db) -> Result<bool> {
    for (std::uint64_t i = 0; i < slice_pages && !pages.empty(); ++i) {
      scrub(db, pages.back());
      pages.pop_back();
    }
    return !pages.empty();
  });
}

// Between a look and the overwriting, pages may have moved: a look that finds nothing is the end.
// From then on nothing can bring the bytes back, for they are nowhere. Where others leave something
// behind all the time, the last look is one during which nobody writes.
Result<void> overwrite_unused(Access access, Slices& slices) {
  for (int i = 0; i < looks_max; ++i) {
    if (auto shrunk = shrink_file(slices); !shrunk) return forward(shrunk);
    auto left = look(access);
    if (!left) return forward(left);
    if (left->pages.empty() && !left->has_free_pages) return {};
    if (auto done = overwrite(slices, std::move(left->pages)); !done) return done;
  }
  return access.writer.write(
      [](Connection& db) -> Result<void> {
        db.execute("PRAGMA incremental_vacuum");
        for (const std::uint32_t page : find_unclean(db)) scrub(db, page);
        return {};
      },
      Sync::later);
}

Result<void> empty_wal(Writer& writer) {
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    auto emptied = writer.empty_wal();
    if (!emptied) return forward(emptied);
    if (*emptied) return {};
  }
  return fail(ErrorCode::unavailable,
              "the bodies are erased, but a long read keeps older pages in the file: erase again "
              "when it has ended");
}

}  // namespace

Result<Freed> SqliteRoles::erase(const SessionId& session, const std::vector<Position>& positions) {
  auto keys =
      access_.readers.read([&](Connection& db) { return find_keys(db, session, positions); });
  if (!keys) return forward(keys);
  Erasure erasure(*std::move(keys));
  const Progress none;
  Slices slices(access_.writer, none);
  auto erased = slices.run([&](Connection& db) -> Result<bool> {
    // So that a move that has read the bodies does not take them along.
    if (!positions.empty()) {
      db.run("UPDATE session SET revision = revision + 1 WHERE id = ?", session.text());
    }
    return erasure.slice(db);
  });
  if (!erased) return forward(erased);
  if (auto overwritten = overwrite_unused(access_, slices); !overwritten) {
    return forward(overwritten);
  }
  if (auto emptied = empty_wal(access_.writer); !emptied) return forward(emptied);
  return erasure.freed();
}

}  // namespace perdure::sqlite
