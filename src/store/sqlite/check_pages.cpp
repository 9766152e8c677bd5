// All pages are read through SQLite, in the check's own transaction; what comes from the main
// file on the way is compared with its sum (summing_vfs.hpp). As long as the transaction lasts,
// nobody writes a page that it reads from there: checkpoints stop short of what a reader
// needs. So this takes no turn, and needs no look at the WAL.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/page_cells.hpp"
#include "sqlite/page_map.hpp"
#include "sqlite/page_reader.hpp"
#include "sqlite/page_sums.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::uint64_t pages_between_progress = 4096;

class PageCheck {
 public:
  explicit PageCheck(CheckRun& run) : run_(run) {}

  /// False if it was told to stop.
  [[nodiscard]] bool read_all() {
    Rows rows = run_.db.query("SELECT data FROM sqlite_dbpage");
    for (; rows.next(); ++read_) {
      if (read_ % pages_between_progress == 0 && !run_.go_on()) return false;
    }
    return true;
  }

  void name_wrong_ones() {
    std::vector<std::uint32_t> wrong = run_.wrong_pages;
    std::ranges::sort(wrong);
    const auto repeated = std::ranges::unique(wrong);
    wrong.erase(repeated.begin(), repeated.end());
    if (wrong.empty()) return;
    run_.guard({}, "the list of tables", [&] { names_ = names_by_root(run_.db); });
    for (const std::uint32_t page : wrong) {
      if (pages_.was_never_written(page)) continue;
      if (run_.report().damage.size() < damage_max) {
        name(page);
      } else {
        run_.found.add({});  // Only counted.
      }
    }
  }

 private:
  void name(std::uint32_t page) {
    const Place place = find_place(page);
    const auto name = names_.find(place.root);
    const std::string tree = name == names_.end() ? std::string() : name->second;
    const auto session = tree == "table entry" ? find_session(place) : std::nullopt;
    const char* map =
        page > 1 && map_page_of(page, pages_.layout()) == page ? " of the map of pages" : "";
    const char* free = pages_.about(page).use == PageUse::free ? ", which is free," : "";
    run_.found.add(
        Fault::file, session,
        fmt::format("the file is damaged: {}{}page {}{}{} does not match its sum",
                    tree.empty() ? "" : "in " + tree, tree.empty() ? "" : ", ", page, map, free));
  }

  /// Where a page is in its tree.
  struct Place {
    std::uint32_t root = 0;      ///< 0 if it is in none.
    std::uint32_t leaf = 0;      ///< Itself, or the page with the row that it is a part of.
    std::uint32_t overflow = 0;  ///< Where that row goes on; 0 if the page is none of a row's.
  };

  // Up from page to page. A damaged map may lead anywhere, also in a circle.
  Place find_place(std::uint32_t page) {
    Place place{.leaf = page};
    for (std::uint64_t steps = 0; steps < read_; ++steps) {
      const MapEntry entry = pages_.about(page);
      if (entry.use == PageUse::root) {
        place.root = page;
        return place;
      }
      if (entry.use == PageUse::free || entry.use == PageUse::unknown) return {};
      if (entry.use == PageUse::overflow_first) {
        place.overflow = page;
        place.leaf = entry.parent;
      }
      page = entry.parent;
    }
    return {};
  }

  // Whose entries the page holds; nobody's if it holds those of several sessions, or does not say.
  std::optional<SessionId> find_session(const Place& place) {
    const std::string bytes = pages_.read(place.leaf);
    const auto page = parse_page(bytes, pages_.layout().usable, false);
    if (!page || page->kind != PageKind::table_leaf) return std::nullopt;
    std::set<std::uint64_t> segments;
    for (const Cell& cell : page->cells) {
      if (place.overflow != 0 && cell.overflow != place.overflow) continue;
      segments.insert(static_cast<std::uint64_t>(cell.rowid) >> 32U);
    }
    if (segments.size() != 1) return std::nullopt;
    std::optional<SessionId> session;
    run_.guard({}, "the list of segments", [&] {
      Rows rows = run_.db.query(
          "SELECT s.id FROM segment g JOIN session s ON s.num = g.session WHERE g.num = ?",
          *segments.begin());
      if (!rows.next()) return;
      if (auto id = SessionId::parse(rows.string(0)); id) session = *std::move(id);
    });
    return session;
  }

  CheckRun& run_;
  PageReader pages_{run_.db};
  std::uint64_t read_ = 0;
  TreeNames names_;
};

}  // namespace

void check_pages(CheckRun& run) {
  if (run.db.reserved_bytes() != sum_bytes) return;
  PageCheck pages(run);
  run.guard({}, "a page of the file", [&] {
    if (pages.read_all()) pages.name_wrong_ones();
  });
}

}  // namespace perdure::sqlite
