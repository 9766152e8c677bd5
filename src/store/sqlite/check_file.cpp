// SQLite's own check, in sentences that name a table and a page, and the definitions
// of the tables, compared with those of a store made now.

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "perdure/core/id_source.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/schema.hpp"

namespace perdure::sqlite {
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

}  // namespace perdure::sqlite
