// In a file, bytes are in more places than one: in their row; where SQLite moved the row
// from; in pages that are free; in the WAL, which has older copies of pages. So a body is
// overwritten in its row, free pages are given back, the unused parts of pages are
// overwritten, and the WAL is written back and cut to nothing, in this order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/retention/garbage.hpp"

namespace perdure::sqlite {

// When a page overflows, SQLite moves some of its rows to another page and leaves their
// bytes where they were, in the unused middle of the page; `secure_delete` does not reach
// those copies. And a page that was free, taken for the end of a long body, keeps behind
// it what it held before. Such bytes are harmless, but they are there: what was erased
// would still be in the file. Ordinary writes pay nothing against it; erasing looks at
// every page.
//
// A page of a tree: a header, an array of places, an unused gap, then cells and free
// blocks among them. A long body continues in overflow pages, each with the number of the
// next; only the row knows how long it is, so the end of the last one is found by going
// back to the row. All of it is in SQLite's file format, which does not change.

namespace {

constexpr std::size_t file_header_bytes = 100;
constexpr std::size_t next_bytes = 4;  // The number of the next overflow page.

std::size_t number_at(std::string_view page, std::size_t at) { return big_endian_16(page, at); }

/// What is unused on a page of a tree. Empty where the page makes no sense.
struct Gap {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Gap> gaps_of(std::string_view page, std::size_t header) {
  const char type = page[header];
  const bool is_inner = type == 2 || type == 5;
  if (!is_inner && type != 10 && type != 13) return {};
  const std::size_t cells = number_at(page, header + 3);
  const std::size_t begin = header + (is_inner ? 12 : 8) + 2 * cells;
  const std::size_t end = number_at(page, header + 5);
  if (begin > end || end > page.size()) return {};
  std::vector<Gap> gaps{{begin, end}};
  std::size_t before = end;
  for (std::size_t at = number_at(page, header + 1); at != 0; at = number_at(page, at)) {
    if (at < before || at + 4 > page.size()) return {};
    const std::size_t size = number_at(page, at + 2);
    if (size < 4 || at + size > page.size()) return {};
    gaps.push_back({at + 4, at + size});
    before = at + size;
  }
  return gaps;
}

}  // namespace

std::optional<std::string> scrubbed(std::string_view page, std::uint32_t number) {
  const std::size_t header = number == 1 ? file_header_bytes : 0;
  if (page.size() < 512) return std::nullopt;
  std::string clean(page);
  for (const Gap& gap : gaps_of(page, header)) {
    std::fill(clean.begin() + static_cast<std::ptrdiff_t>(gap.begin),
              clean.begin() + static_cast<std::ptrdiff_t>(gap.end), '\0');
  }
  if (clean == page) return std::nullopt;
  return clean;
}

namespace {

class Cleaner {
 public:
  explicit Cleaner(Connection& db) : pages_(db) {}

  /// The page with zeros where it has nothing; empty if it has them already.
  [[nodiscard]] std::optional<std::string> cleaned(std::string_view page, std::uint32_t number) {
    switch (pages_.about(number).use) {
      case PageUse::root:
      case PageUse::tree:
        return scrubbed(page, number);
      case PageUse::overflow_first:
      case PageUse::overflow_next:
        return cleaned_tail(page, number);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<std::string> cleaned_tail(std::string_view page, std::uint32_t number) {
    // All but the last are full.
    if (page.size() < pages_.layout().usable || big_endian_32(page, 0) != 0) return std::nullopt;
    const auto used = used_of_last(number);
    const auto end = page.begin() + static_cast<std::ptrdiff_t>(pages_.layout().usable);
    if (!used || std::all_of(page.begin() + static_cast<std::ptrdiff_t>(*used), end,
                             [](char byte) { return byte == '\0'; })) {
      return std::nullopt;
    }
    std::string clean(page);
    std::fill(clean.begin() + static_cast<std::ptrdiff_t>(*used),
              clean.begin() + static_cast<std::ptrdiff_t>(pages_.layout().usable), '\0');
    return clean;
  }

  /// How much the last overflow page of a row holds; empty if its row does not bear it out.
  std::optional<std::size_t> used_of_last(std::uint32_t number) {
    const std::size_t room = pages_.layout().usable - next_bytes;
    std::size_t before = 0;
    MapEntry entry = pages_.about(number);
    while (entry.use == PageUse::overflow_next) {
      before += room;
      if (before > row_bytes_max) return std::nullopt;
      number = entry.parent;
      entry = pages_.about(number);
    }
    if (entry.use != PageUse::overflow_first) return std::nullopt;
    const std::string owner = pages_.read(entry.parent);
    const auto cells = parse_page(owner, pages_.layout().usable, entry.parent == 1);
    if (!cells) return std::nullopt;
    const auto cell = std::ranges::find(cells->cells, number, &Cell::overflow);
    if (cell == cells->cells.end()) return std::nullopt;
    const std::size_t rest = cell->size - cell->local.size();
    if (rest <= before || rest > before + room) return std::nullopt;
    return next_bytes + rest - before;
  }

  static constexpr std::size_t row_bytes_max = 0x7FFF'FFFF;

  PageReader pages_;
};

/// The pages that have something left behind.
std::vector<std::uint32_t> find_unclean(Connection& db) {
  Cleaner cleaner(db);
  std::vector<std::uint32_t> unclean;
  Rows rows = db.query("SELECT pgno, data FROM sqlite_dbpage");
  while (rows.next()) {
    const auto number = static_cast<std::uint32_t>(rows.number(0));
    if (cleaner.cleaned(rows.text(1), number)) unclean.push_back(number);
  }
  return unclean;
}

/// Overwrites the unused parts of a page, whatever it is for by now.
void scrub(Connection& db, std::uint32_t number) {
  Cleaner cleaner(db);
  if (const auto clean = cleaner.cleaned(PageReader(db).read(number), number)) {
    db.run("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", BlobView{*clean},
           std::uint64_t{number});
  }
}

}  // namespace

// Bodies, then what is left of them.

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

bool is_here(Connection& db, const SessionId& session) {
  Rows rows = db.query("SELECT moved IS NULL FROM session WHERE id = ?", session.text());
  return rows.next() && rows.integer(0) != 0;
}

// How many bytes the body had; empty if it was erased before.
std::optional<std::uint64_t> erase_body(Connection& db, std::int64_t key) {
  std::uint64_t bytes = 0;
  {
    Rows rows = db.query("SELECT octet_length(body) FROM entry WHERE id = ? AND codec >= 0", key);
    if (!rows.next()) return std::nullopt;
    bytes = rows.number(0);
  }
  db.run("UPDATE entry SET body = NULL, codec = -1 - codec WHERE id = ?", key);
  return bytes;
}

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
// behind all the time, the last look is made while no one else can write.
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
  bool was_here = false;
  auto keys = access_.readers.read([&](Connection& db) {
    was_here = is_here(db, session);
    return find_keys(db, session, positions);
  });
  if (!keys) return forward(keys);
  Freed freed;
  std::size_t next = 0;
  Slices slices(access_.writer);
  auto erased = slices.run([&](Connection& db) -> Result<bool> {
    if (was_here && !is_here(db, session)) {
      return fail(ErrorCode::conflict,
                  fmt::format("session {} was moved or removed meanwhile: erase where it is",
                              session.text()),
                  session.text());
    }
    // So that a move that has read the bodies does not take them along.
    if (!positions.empty()) {
      db.run("UPDATE session SET revision = revision + 1 WHERE id = ?", session.text());
    }
    const Overwriting overwriting(db);
    std::uint64_t bytes = 0;
    for (int rows = 0; next < keys->size() && rows < slice_rows && bytes < slice_bytes; ++rows) {
      const auto body_bytes = erase_body(db, (*keys)[next++]);
      if (!body_bytes) continue;
      ++freed.items;
      bytes += *body_bytes;
    }
    freed.bytes += bytes;
    return next < keys->size();
  });
  if (!erased) return forward(erased);
  if (auto overwritten = overwrite_unused(access_, slices); !overwritten) {
    return forward(overwritten);
  }
  if (auto emptied = empty_wal(access_.writer); !emptied) return forward(emptied);
  return freed;
}

}  // namespace perdure::sqlite
