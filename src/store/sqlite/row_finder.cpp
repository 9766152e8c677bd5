// A file that vacuums step by step keeps a map of what each page is for. It tells pages
// that are free, whose rows are of the past, from those that lost their tree.

#include "sqlite/row_finder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sqlite/page_map.hpp"
#include "sqlite/schema.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::array known = {
    Shape{"session", "session", "ktiittIttttTITiiiiiihiiiiiiIIii", true, true},
    Shape{"segment", "segment", "kiiIi", true, true},
    Shape{"entry", "entry", "kttiiiIIIIIhV", true, true},
    Shape{"receipt", "receipt", "itiiiiiIiih", false, true},
    Shape{"checkpoint", "checkpoint", "iiiiitttiiiii", false, true},
    Shape{"call", "call", "iiiItttHtiiiiiIIItt", false, true},
    Shape{"message", "message", "kittiiiV", true, true},
    Shape{"blob", "blob", "khiib", true, true},
    Shape{"resource", "resource", "tIii", false, true},
    Shape{"pruned", "pruned", "iiiiiiiii", false, true},
    Shape{"claim", "claim", "htitttiiiiII", false, true},
    Shape{"garbage", "garbage", "kt", true, false},
    Shape{"staged", "staged", "ki", true, false},
    Shape{"meta", "temp.old_meta", "tV", false, false},
    Shape{"sqlite_autoindex_session_1", "temp.session_id", "ti", false, false},
    Shape{"segment_session", "temp.segment_own", "iii", false, false},
    Shape{"segment_parent", "temp.segment_above", "iii", false, false},
};

// Workers of a damaged store are dead to the new one.
static_assert(std::ranges::all_of(store_tables, [](std::string_view table) {
  return table == "worker" || std::ranges::find(known, table, &Shape::name) != known.end();
}));

// Text of the schema table; only read, never written.
constexpr Shape schema{"sqlite_schema", "", "tttiT", true, false};

// The last column of session came with format 2; rows from before do not have it.
constexpr std::size_t old_session_columns = 30;

bool fits(char column, const Value& value) {
  const char kind = static_cast<char>(std::tolower(static_cast<unsigned char>(column)));
  if (value.kind == Value::Kind::null) return kind == 'k' || column != kind;
  switch (kind) {
    case 'i':
      return value.kind == Value::Kind::integer;
    case 't':
      return value.kind == Value::Kind::text;
    case 'h':
      return value.kind == Value::Kind::blob && value.bytes.size() == 32;
    case 'b':
      return value.kind == Value::Kind::blob;
    case 'v':
      return true;
    default:
      return false;
  }
}

bool has_shape(const Shape& shape, std::vector<Value>& values) {
  if (shape.name == "session" && values.size() == old_session_columns) {
    values.push_back({.kind = Value::Kind::integer, .integer = 0, .real = 0, .bytes = {}});
  }
  return std::ranges::equal(shape.columns, values, fits);
}

// Text and bytes differ in one bit of a record's header. Where the table is known, its columns say
// which it is, as they do for SQLite's readers.
void settle_kinds(const Shape& shape, std::vector<Value>& values) {
  for (std::size_t i = 0; i < std::min(shape.columns.size(), values.size()); ++i) {
    const int column = std::tolower(static_cast<unsigned char>(shape.columns[i]));
    Value& value = values[i];
    if (column == 't' && value.kind == Value::Kind::blob) value.kind = Value::Kind::text;
    if (column == 'h' && value.kind == Value::Kind::text) value.kind = Value::Kind::blob;
    if (column == 'b' && value.kind == Value::Kind::text) value.kind = Value::Kind::blob;
  }
}

bool holds_rows(PageKind kind) { return kind != PageKind::table_interior; }

class Finder {
 public:
  Finder(const PageSource& source, const RowVisitor& visit)
      : source_(source), visit_(visit), seen_(std::size_t{source.page_count()} + 1, false) {}

  FoundPages run() {
    const auto roots = find_roots();
    for (const Shape& shape : known) {
      const auto root = roots.find(shape.name);
      if (root == roots.end()) {
        found_.is_whole = false;
      } else {
        walk(root->second, shape);
      }
    }
    if (!found_.is_whole) search_the_rest();
    return found_;
  }

 private:
  std::map<std::string, std::uint32_t, std::less<>> find_roots() {
    std::map<std::string, std::uint32_t, std::less<>> roots;
    take_ = [&](const Shape&, std::vector<Value>&& values) {
      if (values[3].integer > 0 && values[3].integer <= source_.page_count()) {
        roots[values[1].bytes] = static_cast<std::uint32_t>(values[3].integer);
      }
    };
    walk(1, schema);
    take_ = [&](const Shape& shape, std::vector<Value>&& values) {
      visit_.row({.shape = &shape, .values = std::move(values)});
    };
    return roots;
  }

  void walk(std::uint32_t root, const Shape& shape) {
    std::vector<std::uint32_t> open{root};
    while (!open.empty() && goes_on_) {
      const std::uint32_t number = open.back();
      open.pop_back();
      if (number == 0 || number > source_.page_count() || seen_[number]) {
        found_.is_whole = false;
        continue;
      }
      seen_[number] = true;
      go_on(number);
      walk_page(number, shape, open);
    }
  }

  void walk_page(std::uint32_t number, const Shape& shape, std::vector<std::uint32_t>& open) {
    const auto bytes = source_.read(number);
    const auto page = bytes ? parse(*bytes, number) : std::nullopt;
    const bool is_table =
        page && (page->kind == PageKind::table_leaf || page->kind == PageKind::table_interior);
    if (!page || is_table != shape.is_table_tree) {
      ++found_.unreadable;
      found_.is_whole = false;
      // It may be a page of another tree, and found there.
      if (page) seen_[number] = false;
      return;
    }
    if (!page->is_whole) lose_cells();
    for (const Cell& cell : page->cells) {
      if (cell.child != 0) open.push_back(cell.child);
      if (holds_rows(page->kind) && !take(cell, shape)) lose_cells();
    }
    if (page->right_child != 0) open.push_back(page->right_child);
  }

  [[nodiscard]] std::optional<PageCells> parse(std::string_view page, std::uint32_t number) const {
    return parse_page(page, source_.usable_size(), number == 1);
  }

  void lose_cells() { found_.is_whole = false; }

  bool take(const Cell& cell, const Shape& shape) {
    auto values = read_values(cell);
    if (!values) return false;
    settle_kinds(shape, *values);
    if (!has_shape(shape, *values)) return false;
    set_rowid(shape, cell, *values);
    take_(shape, *std::move(values));
    return true;
  }

  static void set_rowid(const Shape& shape, const Cell& cell, std::vector<Value>& values) {
    if (shape.columns.front() != 'k') return;
    values.front().kind = Value::Kind::integer;
    values.front().integer = cell.rowid;
  }

  std::optional<std::vector<Value>> read_values(const Cell& cell) {
    if (cell.overflow == 0) return parse_record(cell.local);
    std::string payload(cell.local);
    std::uint32_t next = cell.overflow;
    while (payload.size() < cell.size) {
      // A page is part of one row at most.
      const bool is_free = next != 0 && next <= source_.page_count() && !seen_[next];
      const auto page = is_free ? source_.read(next) : std::nullopt;
      if (!page) {
        found_.is_whole = false;
        break;
      }
      seen_[next] = true;
      const std::size_t wanted =
          std::min<std::size_t>(cell.size - payload.size(), source_.usable_size() - 4);
      payload.append(*page, 4, wanted);
      next = big_endian_32(*page, 0);
    }
    return parse_record(payload);
  }

  void search_the_rest() {
    for (std::uint32_t number = 1; number <= source_.page_count() && goes_on_; ++number) {
      if (seen_[number] || !may_hold_rows(number)) continue;
      go_on(number);
      const auto bytes = source_.read(number);
      const auto page = bytes ? parse(*bytes, number) : std::nullopt;
      if (!page || !holds_rows(page->kind)) continue;
      for (const Cell& cell : page->cells) take_by_shape(cell, page->kind);
    }
  }

  void take_by_shape(const Cell& cell, PageKind kind) {
    auto values = read_values(cell);
    if (!values) return;
    const bool is_table_tree = kind == PageKind::table_leaf;
    for (const Shape& shape : known) {
      if (!shape.is_known_by_shape || shape.is_table_tree != is_table_tree) continue;
      if (!has_shape(shape, *values)) continue;
      set_rowid(shape, cell, *values);
      return take_(shape, *std::move(values));
    }
  }

  // What the map of pages says of it, if it says anything.
  bool may_hold_rows(std::uint32_t number) {
    if (number < 3) return number == 1;
    const PageLayout layout{.page_size = source_.page_size(), .usable = source_.usable_size()};
    const std::uint32_t map = map_page_of(number, layout);
    if (map == number) return false;
    if (map_number_ != map) {
      map_number_ = map;
      map_ = source_.read(map).value_or(std::string());
    }
    const PageUse use = map_entry(map_, number, layout).use;
    return use == PageUse::root || use == PageUse::tree || use == PageUse::unknown;
  }

  void go_on(std::uint32_t number) {
    if (visit_.go_on && !visit_.go_on(number)) goes_on_ = false;
  }

  const PageSource& source_;
  const RowVisitor& visit_;
  std::vector<bool> seen_;
  FoundPages found_;
  bool goes_on_ = true;
  std::function<void(const Shape&, std::vector<Value>&&)> take_;
  std::uint32_t map_number_ = 0;
  std::string map_;
};

}  // namespace

std::span<const Shape> shapes() { return known; }

FoundPages find_rows(const PageSource& source, const RowVisitor& visit) {
  return Finder(source, visit).run();
}

std::uint64_t count_rows(std::string_view file, std::string_view log) {
  std::uint64_t rows = 0;
  const PageSource source(Bytes::of(file), Bytes::of(log));
  find_rows(source, {.row = [&](FoundRow&&) { ++rows; }, .go_on = {}});
  return rows;
}

}  // namespace perdure::sqlite
