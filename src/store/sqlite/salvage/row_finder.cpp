// Shapes of rows, then the search for them.

#include "sqlite/salvage/row_finder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/salvage/page_source.hpp"

namespace perdure::sqlite {

// A record says of each column what kind it is, and nothing of its table.

namespace {

constexpr std::array table_shapes = {
    Shape{"session", "session", "ktiittIttttTITiiiiiihiiiiiiIIiiT", true, true, 0, 11},
    Shape{"segment", "segment", "kiiIi", true, true},
    Shape{"entry", "entry", "kttiiiIIIIIhV", true, true},
    Shape{"receipt", "receipt", "itiiiiiIiih", false, true, 2},
    Shape{"checkpoint", "checkpoint", "iiiiitttiiiii", false, true, 2, 4},
    Shape{"call", "call", "iiiItttHtiiiiiIIIttH", false, true, 2},
    Shape{"message", "message", "kittiiiV", true, true},
    Shape{"blob", "blob", "khiib", true, true},
    Shape{"resource", "resource", "tIii", false, true, 1},
    Shape{"pruned", "pruned", "iiiiiiiii", false, true, 2},
    Shape{"claim", "claim", "htitttiiiiIIH", false, true, 1},
    Shape{"garbage", "garbage", "kt", true, false},
    Shape{"staged", "staged", "ki", true, false},
    Shape{"meta", "temp.old_meta", "tV", false, false, 1},
    Shape{"sqlite_autoindex_session_1", "temp.session_id", "ti", false, false, 2},
    Shape{"sqlite_autoindex_blob_1", "temp.blob_hash", "hi", false, false, 2},
    Shape{"sqlite_autoindex_message_1", "temp.message_id", "iti", false, false, 3},
    Shape{"call_key", "temp.call_key", "hii", false, false, 3},
    Shape{"call_open", "temp.call_state", "tii", false, false, 3},
    Shape{"entry_value", "temp.entry_channel", "tii", false, false, 3},
    Shape{"checkpoint_label", "temp.checkpoint_label", "iti", false, false, 3},
    Shape{"segment_session", "temp.segment_own", "iii", false, false, 3},
    Shape{"segment_parent", "temp.segment_above", "iii", false, false, 3},
};

// Workers of a damaged store are dead to the new one, and moves that were open are abandoned.
constexpr std::array left_out = {"worker", "move", "transit", "arriving", "arrived_segment"};

static_assert(std::ranges::all_of(store_tables, [](std::string_view table) {
  return std::ranges::find(left_out, table) != left_out.end() ||
         std::ranges::find(table_shapes, table, &Shape::name) != table_shapes.end();
}));

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

// What a reader takes a value for that makes no sense in its column.
Value nothing_for(char column) {
  Value value;
  if (column == 'i') value.kind = Value::Kind::integer;
  if (column == 't') value.kind = Value::Kind::text;
  if (column == 'b' || column == 'h') value.kind = Value::Kind::blob;
  if (column == 'h') value.bytes.assign(32, '\0');
  return value;
}

}  // namespace

std::span<const Shape> shapes() { return table_shapes; }

bool has_shape(const Shape& shape, const Record& record) {
  return record.is_whole && std::ranges::equal(shape.columns, record.values, fits);
}

void settle_kinds(const Shape& shape, Record& record) {
  std::vector<Value>& values = record.values;
  for (std::size_t i = 0; i < std::min(shape.columns.size(), values.size()); ++i) {
    const int column = std::tolower(static_cast<unsigned char>(shape.columns[i]));
    Value& value = values[i];
    if (column == 't' && value.kind == Value::Kind::blob) value.kind = Value::Kind::text;
    if (column == 'h' && value.kind == Value::Kind::text) value.kind = Value::Kind::blob;
    if (column == 'b' && value.kind == Value::Kind::text) value.kind = Value::Kind::blob;
  }
}

bool make_fit(const Shape& shape, Record& record) {
  std::vector<Value>& values = record.values;
  const bool is_cut = values.size() < shape.columns.size();
  if (values.size() > shape.columns.size()) return false;
  values.resize(shape.columns.size());
  std::size_t first = shape.columns.size();
  std::size_t unfit = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (fits(shape.columns[i], values[i])) continue;
    first = std::min(first, i);
    values[i] = nothing_for(shape.columns[i]);
    ++unfit;
  }
  if (!is_cut && unfit <= 1) return first >= shape.key;
  return shape.enough > 0 && first >= shape.enough;
}

// A file that vacuums step by step keeps a map of what each page is for. It tells pages
// that are free, whose rows are of the past, from those that lost their tree.

namespace {

// Text of the schema table; only read, never written.
constexpr Shape schema{"sqlite_schema", "", "tttiT", true, false, 5};

bool holds_rows(PageKind kind) { return kind != PageKind::table_interior; }

class Finder {
 public:
  Finder(const PageSource& source, const RowVisitor& visit)
      : source_(source), visit_(visit), seen_(std::size_t{source.page_count()} + 1, false) {}

  FoundPages run() {
    const auto roots = find_roots();
    for (const Shape& shape : shapes()) {
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
      visit_.row({.shape = &shape, .values = std::move(values), .is_doubtful = is_doubtful_});
    };
    return roots;
  }

  struct Step {
    std::uint32_t number = 0;
    MapEntry place;
  };

  void walk(std::uint32_t root, const Shape& shape) {
    std::vector<Step> open{{.number = root, .place = {.use = PageUse::root}}};
    while (!open.empty() && goes_on_) {
      const Step step = open.back();
      open.pop_back();
      if (!is_free(step)) {
        found_.is_whole = false;
        continue;
      }
      seen_[step.number] = true;
      go_on(step.number);
      walk_page(step.number, shape, open);
    }
  }

  // A page is part of one tree, or one row, at most: a damaged number must not lead to another's.
  bool is_free(const Step& step) {
    if (step.number == 0 || step.number > source_.page_count() || seen_[step.number]) return false;
    const MapEntry said = read_map(step.number);
    return !is_map_proven_ || said.use == PageUse::unknown || said == step.place;
  }

  void walk_page(std::uint32_t number, const Shape& shape, std::vector<Step>& open) {
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
    if (!page->is_whole) found_.is_whole = false;
    begin_page(number, *bytes);
    const auto lead_to = [&](std::uint32_t child) {
      if (child != 0) open.push_back({child, {.use = PageUse::tree, .parent = number}});
    };
    std::size_t taken = 0;
    for (std::size_t i = 0; i < page->cells.size(); ++i) {
      lead_to(page->cells[i].child);
      if (!is_page_proven_) owner_ = owner_around(shape, page->cells, i);
      if (!holds_rows(page->kind) || take(page->cells[i], shape)) ++taken;
    }
    owner_.reset();
    lead_to(page->right_child);
    if (taken < page->cells.size()) found_.is_whole = false;
    if (taken == 0 && !page->cells.empty()) seen_[number] = false;
  }

  void begin_page(std::uint32_t number, std::string_view bytes) {
    page_ = number;
    is_page_proven_ = source_.is_proven(number, bytes);
  }

  [[nodiscard]] std::optional<PageCells> parse(std::string_view page, std::uint32_t number) const {
    return parse_page(page, source_.usable_size(), number == 1);
  }

  // Keys are in order, the session (or segment) first: what lies between two rows of one is its own.
  static std::optional<Value> owner_around(const Shape& shape, const std::vector<Cell>& cells,
                                           std::size_t i) {
    const bool begins_with_owner = shape.key >= 2 && shape.columns.front() == 'i';
    if (!begins_with_owner || i == 0 || i + 1 >= cells.size()) return std::nullopt;
    const auto before = parse_record(cells[i - 1].local);
    const auto after = parse_record(cells[i + 1].local);
    if (!before || !after || before->values.empty() || after->values.empty()) return std::nullopt;
    const Value& owner = before->values.front();
    const bool is_one = owner.kind == Value::Kind::integer && owner == after->values.front();
    return is_one ? std::optional(owner) : std::nullopt;
  }

  bool take(const Cell& cell, const Shape& shape) {
    auto record = read_record(cell);
    if (!record) return false;
    if (owner_ && !record->values.empty()) record->values.front() = *owner_;
    settle_kinds(shape, *record);
    if (!has_shape(shape, *record)) {
      if (!make_fit(shape, *record)) return false;
      is_doubtful_ = true;
    }
    set_rowid(shape, cell, record->values);
    take_(shape, std::move(record->values));
    return true;
  }

  static void set_rowid(const Shape& shape, const Cell& cell, std::vector<Value>& values) {
    if (shape.columns.front() != 'k') return;
    values.front().kind = Value::Kind::integer;
    values.front().integer = cell.rowid;
  }

  std::optional<Record> read_record(const Cell& cell) {
    is_doubtful_ = !is_page_proven_;
    if (cell.overflow == 0) return parse_record(cell.local);
    std::string payload(cell.local);
    Step next{.number = cell.overflow, .place = {.use = PageUse::overflow_first, .parent = page_}};
    while (payload.size() < cell.size) {
      const auto page = is_free(next) ? source_.read(next.number) : std::nullopt;
      if (!page) {
        found_.is_whole = false;
        break;
      }
      seen_[next.number] = true;
      if (!source_.is_proven(next.number, *page)) is_doubtful_ = true;
      const std::size_t wanted =
          std::min<std::size_t>(cell.size - payload.size(), source_.usable_size() - 4);
      payload.append(*page, 4, wanted);
      next = {.number = big_endian_32(*page, 0),
              .place = {.use = PageUse::overflow_next, .parent = next.number}};
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
      begin_page(number, *bytes);
      for (const Cell& cell : page->cells) take_by_shape(cell, page->kind);
    }
  }

  void take_by_shape(const Cell& cell, PageKind kind) {
    auto record = read_record(cell);
    if (!record) return;
    const bool is_table_tree = kind == PageKind::table_leaf;
    for (const Shape& shape : shapes()) {
      if (!shape.is_known_by_shape || shape.is_table_tree != is_table_tree) continue;
      if (!has_shape(shape, *record)) continue;
      set_rowid(shape, cell, record->values);
      return take_(shape, std::move(record->values));
    }
  }

  bool may_hold_rows(std::uint32_t number) {
    if (number < 3) return number == 1;
    const PageUse use = read_map(number).use;
    return map_number_ != number &&
           (use == PageUse::root || use == PageUse::tree || use == PageUse::unknown);
  }

  // What the map of pages says of it, if it says anything.
  MapEntry read_map(std::uint32_t number) {
    const PageLayout layout{.page_size = source_.page_size(), .usable = source_.usable_size()};
    const std::uint32_t map = number < 2 ? 2 : map_page_of(number, layout);
    if (map_number_ != map) {
      map_number_ = map;
      map_ = source_.read(map).value_or(std::string());
      is_map_proven_ = !map_.empty() && source_.is_proven(map, map_);
    }
    return map_entry(map_, number, layout);
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
  bool is_map_proven_ = false;
  std::uint32_t page_ = 0;  ///< That is being read.
  bool is_page_proven_ = false;
  bool is_doubtful_ = false;    ///< Of the row that is being read.
  std::optional<Value> owner_;  ///< Of the row, by its neighbours on a page that is wrong.
};

}  // namespace

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
