// Which pages belong to trees is told by the pointer map that an incremental vacuum
// needs: five bytes for each page, the first of which says what the page is. Pages of
// rows, of overflowing bodies, and free ones cannot be told apart by their own bytes.
//
// A page of a tree: a header, an array of places, an unused gap, then cells and free
// blocks among them. All of it is in SQLite's file format, which does not change.

#include "sqlite/scrub.hpp"

#include <algorithm>

namespace perdure::sqlite {
namespace {

constexpr std::size_t file_header_bytes = 100;
constexpr std::uint64_t lock_byte = 0x4000'0000;

std::size_t number_at(std::string_view page, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(page[i]); };
  return std::size_t{byte(at)} << 8U | byte(at + 1);
}

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

std::string read_page(Connection& db, std::uint32_t number) {
  Rows rows = db.query("SELECT data FROM sqlite_dbpage WHERE pgno = ?", std::uint64_t{number});
  return rows.next() ? rows.string(0) : std::string();
}

/// The page of the pointer map that covers the page; itself if it is one.
std::uint32_t map_page(std::uint32_t number, std::size_t page_size) {
  const auto covered = static_cast<std::uint32_t>(page_size / 5 + 1);
  const std::uint32_t map = (number - 2) / covered * covered + 2;
  return map == lock_byte / page_size + 1 ? map + 1 : map;
}

bool is_of_tree(Connection& db, std::uint32_t number, std::size_t page_size) {
  if (number == 1) return true;
  const std::uint32_t map = map_page(number, page_size);
  if (number <= map || number == lock_byte / page_size + 1) return false;
  const std::string entries = read_page(db, map);
  const std::size_t at = std::size_t{5} * (number - map - 1);
  if (at >= entries.size()) return false;
  // The root of a tree, or another page of one.
  return entries[at] == 1 || entries[at] == 5;
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

std::vector<std::uint32_t> find_unclean(Connection& db) {
  std::vector<std::uint32_t> suspects;
  std::size_t page_size = 0;
  {
    Rows rows = db.query("SELECT pgno, data FROM sqlite_dbpage");
    while (rows.next()) {
      const auto number = static_cast<std::uint32_t>(rows.number(0));
      page_size = rows.text(1).size();
      if (scrubbed(rows.text(1), number)) suspects.push_back(number);
    }
  }
  std::erase_if(suspects, [&](std::uint32_t number) { return !is_of_tree(db, number, page_size); });
  return suspects;
}

void scrub(Connection& db, std::uint32_t number) {
  const std::string page = read_page(db, number);
  if (page.empty() || !is_of_tree(db, number, page.size())) return;
  if (const auto clean = scrubbed(page, number)) {
    db.run("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", BlobView{*clean},
           std::uint64_t{number});
  }
}

}  // namespace perdure::sqlite
