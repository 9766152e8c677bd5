// The file: SQLite's own check, then every page against its sum.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/check/check_run.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/pages/page_layout.hpp"

namespace perdure::sqlite {

// SQLite's own check, in sentences that name a table and a page, and the definitions
// of the tables, compared with those of a store made now.

namespace {

// "Tree 7 page 9 cell 3: …" says the root of a tree, which only SQLite knows by number.
std::string name_tree(std::string_view line, const TreeNames& names) {
  constexpr std::string_view tree = "Tree ";
  if (!line.starts_with(tree)) return std::string(line);
  std::uint32_t root = 0;
  const std::string_view rest = line.substr(tree.size());
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), root);
  const auto name = names.find(root);
  if (read.ec != std::errc{} || name == names.end()) return std::string(line);
  return fmt::format("in {},{}", name->second, std::string_view(read.ptr, rest.end()));
}

class FileCheck {
 public:
  explicit FileCheck(CheckRun& run) : run_(run) {
    run.guard({}, "the list of tables", [&] { names_ = names_by_root(run.db); });
  }

  /// False if it ended before its end.
  bool check(std::string_view pragma) {
    try {
      Rows rows = run_.db.query(pragma);
      while (rows.next()) add_lines(rows.text(0));
      return true;
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
      add_lines(fmt::format("a check of it ended early: {}", error.what()));
      return false;
    }
  }

 private:
  void add_lines(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (line.empty() || line == "ok" || line.starts_with("***")) continue;
      if (!seen_.insert(std::string(line)).second) continue;
      run_.found.add(Fault::file, {},
                     fmt::format("the file is damaged: {}", name_tree(line, names_)));
    }
  }

  CheckRun& run_;
  TreeNames names_;
  std::set<std::string> seen_;
};

std::map<std::string, std::string> definitions(Connection& db) {
  std::map<std::string, std::string> found;
  Rows rows =
      db.query("SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE type <> 'view'");
  while (rows.next()) found[fmt::format("{} {}", rows.text(0), rows.text(1))] = rows.string(2);
  return found;
}

void check_definitions(CheckRun& run) {
  std::atomic<std::uint64_t> rows_read = 0;
  Connection fresh(":memory:", "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read);
  migrate(fresh, random_ids());
  const auto there = definitions(run.db);
  for (const auto& [name, definition] : definitions(fresh)) {
    const auto found = there.find(name);
    if (found != there.end() && found->second == definition) continue;
    run.found.add(Fault::file, {},
                  fmt::format("the definition of {} {}", name,
                              found == there.end() ? "is missing" : "was changed"));
  }
}

}  // namespace

TreeNames names_by_root(Connection& db) {
  TreeNames names;
  Rows rows = db.query("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0");
  while (rows.next()) {
    names[static_cast<std::uint32_t>(rows.number(0))] =
        fmt::format("{} {}", rows.text(1), rows.text(2));
  }
  names[1] = "the list of tables";
  return names;
}

void check_file(CheckRun& run) {
  FileCheck file(run);
  if (!file.check("PRAGMA integrity_check(1000)")) {
    for (const std::string_view table : store_tables) {
      file.check(fmt::format("PRAGMA integrity_check({})", table));
    }
  }
  run.guard({}, "the list of tables", [&] { check_definitions(run); });
}

// All pages are read through SQLite, in the check's own transaction; what comes from the main
// file on the way is compared with its sum (summing_vfs.hpp). As long as the transaction lasts,
// nobody writes a page that it reads from there: checkpoints stop short of what a reader
// needs. So this takes no turn, and needs no look at the WAL.

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
