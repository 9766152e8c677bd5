// A page of a tree: a header, an array of places, an unused gap, then cells and free
// blocks among them. A long body goes on in overflow pages, each with the number of the
// next; only the row knows how long it is, so the end of the last one is found by going
// back to the row. All of it is in SQLite's file format, which does not change.

#include "sqlite/retention/scrub.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/engine/connection.hpp"
#include "sqlite/pages/page_layout.hpp"
#include "sqlite/pages/page_source.hpp"

namespace perdure::sqlite {
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

void scrub(Connection& db, std::uint32_t number) {
  Cleaner cleaner(db);
  if (const auto clean = cleaner.cleaned(PageReader(db).read(number), number)) {
    db.run("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", BlobView{*clean},
           std::uint64_t{number});
  }
}

}  // namespace perdure::sqlite
