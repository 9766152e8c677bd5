// Pages, shapes of rows, then the search for them.

#include "sqlite/salvage/row_finder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// Layouts as SQLite's file format documentation has them.

namespace {

constexpr std::size_t log_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::uint32_t log_magic = 0x377F'0682;  // Its lowest bit: words are big-endian.

// A running checksum of the log.
struct Checksum {
  std::uint32_t one = 0;
  std::uint32_t two = 0;

  void add(std::string_view bytes, bool big_endian) {
    const auto word = [&](std::size_t at) {
      const std::uint32_t value = big_endian_32(bytes, at);
      return big_endian ? value : __builtin_bswap32(value);
    };
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      one += word(at) + two;
      two += word(at + 4) + one;
    }
  }
  bool operator==(const Checksum&) const = default;
};

Checksum checksum_at(std::string_view bytes, std::size_t offset) {
  return {big_endian_32(bytes, offset), big_endian_32(bytes, offset + 4)};
}

struct LogHeader {
  bool big_endian = false;
  std::string salts;
  Checksum checksum;
};

std::optional<LogHeader> read_log_header(const Bytes& log) {
  const std::string bytes = log.read(0, log_header_bytes);
  if (bytes.size() < log_header_bytes) return std::nullopt;
  const std::uint32_t magic = big_endian_32(bytes, 0);
  if ((magic & ~1U) != log_magic) return std::nullopt;
  LogHeader header{.big_endian = (magic & 1U) != 0,
                   .salts = bytes.substr(16, 8),
                   .checksum = checksum_at(bytes, 24)};
  Checksum counted;
  counted.add(std::string_view(bytes).substr(0, 24), header.big_endian);
  if (counted != header.checksum || big_endian_32(bytes, 8) != page_bytes) return std::nullopt;
  return header;
}

}  // namespace

Bytes Bytes::of(std::string_view bytes) {
  return {.size = bytes.size(), .read = [bytes](std::uint64_t offset, std::size_t count) {
            return offset < bytes.size() ? std::string(bytes.substr(offset, count)) : std::string();
          }};
}

Bytes Bytes::of_file(const std::string& path) {
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open() && errno == ENOENT) return Bytes::of({});
  if (!opened.is_open()) throw std::system_error(errno, std::generic_category(), path);
  // Shared by the copies of the reading function, and closed with the last of them.
  const auto file = std::make_shared<const Descriptor>(std::move(opened));
  struct stat about{};
  if (::fstat(file->get(), &about) != 0)
    throw std::system_error(errno, std::generic_category(), path);
  const auto read = [file](std::uint64_t offset, std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(file->get(), bytes.data() + done, count - done,
                                  static_cast<off_t>(offset + done));
      if (got == 0) break;
      if (got < 0 && errno == EINTR) continue;
      // A place the disk cannot read is one more damaged page.
      if (got < 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  };
  return {.size = static_cast<std::uint64_t>(about.st_size), .read = read};
}

PageSource::PageSource(Bytes file, Bytes log, LogPart part)
    : file_(std::move(file)), log_(std::move(log)) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  page_count_ =
      static_cast<std::uint32_t>(std::min(most, (file_.size + page_bytes - 1) / page_bytes));
  read_log(part);
  find_usable_size();
}

// A right sum is none by chance; where there is none, as the header says.
void PageSource::find_usable_size() {
  constexpr std::uint32_t pages_max = 64;
  const auto is_summed = [&](std::uint32_t page) {
    const std::string bytes = file_.read(std::uint64_t{page - 1} * page_bytes, page_bytes);
    return bytes.size() == page_bytes && has_right_sum(bytes, page);
  };
  bool has_sums = says_sums(read(1).value_or(std::string()));
  for (std::uint32_t page = 1; !has_sums && page <= std::min(pages_max, page_count_); ++page) {
    has_sums = is_summed(page);
  }
  if (has_sums) usable_size_ = page_bytes - sum_bytes;
}

std::optional<std::string> PageSource::read(std::uint32_t page) const {
  if (page == 0 || page > page_count_) return std::nullopt;
  const auto frame = in_log_.find(page);
  std::string bytes = frame == in_log_.end()
                          ? file_.read(std::uint64_t{page - 1} * page_bytes, page_bytes)
                          : log_.read(frame->second, page_bytes);
  if (bytes.empty()) return std::nullopt;
  // Rows are at the end of a page, but trees and overflows begin at its front.
  bytes.resize(page_bytes, '\0');
  return bytes;
}

// Frames of the log count only if their checksums are right.
bool PageSource::is_proven(std::uint32_t page, std::string_view bytes) const {
  const bool has_sums = usable_size_ < page_bytes;
  return has_sums && !has_gap_ && (in_log_.contains(page) || has_right_sum(bytes, page));
}

// Each frame continues from the checksum that the one before it states, right or not: so what comes
// after a damaged frame can be distinguished from the rest of an older log. Frames count from the
// commit that ends their transaction on.
void PageSource::read_log(LogPart part) {
  const auto header = read_log_header(log_);
  const bool big_endian = header && header->big_endian;
  const std::string salts = header ? header->salts : log_.read(log_header_bytes + 8, 8);
  std::optional<Checksum> before;
  if (header) before = header->checksum;
  std::unordered_map<std::uint32_t, std::uint64_t> pending;
  const std::uint64_t frame_bytes = frame_header_bytes + page_bytes;
  bool is_damaged = !header;
  for (std::uint64_t at = log_header_bytes; at + frame_bytes <= log_.size; at += frame_bytes) {
    const std::string frame = log_.read(at, frame_bytes);
    if (frame.size() < frame_bytes) return;
    const Checksum stated = checksum_at(frame, 16);
    Checksum counted = before.value_or(Checksum{});
    counted.add(std::string_view(frame).substr(0, 8), big_endian);
    counted.add(std::string_view(frame).substr(frame_header_bytes), big_endian);
    const bool is_right = before && counted == stated && frame.compare(8, 8, salts) == 0;
    before = stated;
    if (!is_right) is_damaged = true;
    if (is_damaged && part == LogPart::up_to_damage) return;
    if (!is_right) continue;
    const std::uint32_t page = big_endian_32(frame, 0);
    if (page == 0) continue;
    has_gap_ = is_damaged;
    pending[page] = at + frame_header_bytes;
    if (big_endian_32(frame, 4) == 0) continue;
    for (const auto& [number, place] : pending) {
      in_log_[number] = place;
      page_count_ = std::max(page_count_, number);
    }
    pending.clear();
  }
}

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
    Shape{"move", "move", "tiiiit", false, true, 2},
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

// Workers of a damaged store are dead to the new one, and what was arriving is dropped.
constexpr std::array not_salvaged = {"worker", "transit", "arriving", "arrived_segment"};

static_assert(std::ranges::all_of(store_tables, [](std::string_view table) {
  return std::ranges::find(not_salvaged, table) != not_salvaged.end() ||
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

// Whether all columns fit.
bool has_shape(const Shape& shape, const Record& record) {
  return record.is_whole && std::ranges::equal(shape.columns, record.values, fits);
}

// Text and bytes differ in one bit of a record's header. Where the table is known, its columns
// say which it is, as they do for SQLite's readers.
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

// For a row of this table that does not fit: one damaged byte of its header gives a column another
// kind, or swallows all that come after it. These become nothing. False if there is more wrong
// with it than that: then nothing says that it is such a row.
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

// Text of the schema table; only read, never written.
constexpr Shape schema{"sqlite_schema", "", "tttiT", true, false, 5};

bool holds_rows(PageKind kind) { return kind != PageKind::table_interior; }

class Finder {
 public:
  Finder(const PageSource& source, const RowVisitor& visit)
      : source_(source), visit_(visit), seen_(std::size_t{source.page_count()} + 1, false) {}

  FoundPages run() {
    const auto roots = find_roots();
    for (const Shape& shape : table_shapes) {
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

  // Keys are in order, the session (or segment) first: what is between two rows of one is its
  // own.
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
    for (const Shape& shape : table_shapes) {
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
    const PageLayout layout{.page_size = page_bytes, .usable = source_.usable_size()};
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
