// The map of pages, reading pages through a connection, cells.

#include "sqlite/engine/page_layout.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// The arithmetic is in SQLite's file format, which does not change.

namespace {

constexpr std::uint32_t entry_bytes = 5;
constexpr std::uint32_t locked_byte = 0x4000'0000;

std::uint32_t locked_page(const PageLayout& layout) { return locked_byte / layout.page_size + 1; }

}  // namespace

std::uint32_t map_page_of(std::uint32_t number, const PageLayout& layout) {
  const std::uint32_t pages_a_map = layout.usable / entry_bytes + 1;
  const std::uint32_t map = (number - 2) / pages_a_map * pages_a_map + 2;
  return map == locked_page(layout) ? map + 1 : map;
}

MapEntry map_entry(std::string_view map, std::uint32_t number, const PageLayout& layout) {
  if (number <= 1) return {.use = number == 1 ? PageUse::root : PageUse::unknown, .parent = 0};
  const std::uint32_t map_number = map_page_of(number, layout);
  if (number <= map_number || number == locked_page(layout)) return {};
  const std::size_t at = std::size_t{entry_bytes} * (number - map_number - 1);
  if (at + entry_bytes > map.size()) return {};
  const auto use = static_cast<unsigned char>(map[at]);
  if (use < 1 || use > 5) return {};
  return {.use = static_cast<PageUse>(use), .parent = big_endian_32(map, at + 1)};
}

// One page of the map covers many others: the last one is kept.

PageReader::PageReader(Connection& db) : db_(db) {
  layout_.page_size = static_cast<std::uint32_t>(read(1).size());
  const auto reserved = static_cast<std::uint32_t>(db.reserved_bytes());
  layout_.usable = layout_.page_size - std::min(reserved, layout_.page_size);
}

std::string PageReader::read(std::uint32_t page) {
  Rows rows = db_.query("SELECT data FROM sqlite_dbpage WHERE pgno = ?", std::uint64_t{page});
  return rows.next() ? rows.string(0) : std::string();
}

MapEntry PageReader::about(std::uint32_t page) {
  if (page < 2) return map_entry({}, page, layout_);
  const std::uint32_t map = map_page_of(page, layout_);
  if (map != map_number_) map_ = read(map);
  map_number_ = map;
  return map_entry(map_, page, layout_);
}

bool PageReader::was_never_written(std::uint32_t page) {
  return about(page).use == PageUse::free &&
         std::ranges::all_of(read(page), [](char byte) { return byte == '\0'; });
}

// Bounds are checked where bytes are taken, in Cursor, and nowhere else.

namespace {

constexpr std::size_t columns_max = 64;

// Takes bytes from the front; fails for good when there are none left.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool is_good() const { return good_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::uint32_t take_32() { return big_endian_32(take(4), 0); }

  std::uint64_t take_varint() {
    std::uint64_t value = 0;
    for (int i = 0; i < 9; ++i) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      const auto bits = static_cast<unsigned char>(byte[0]);
      if (i == 8) return value << 8U | bits;
      value = value << 7U | (bits & 0x7FU);
      if ((bits & 0x80U) == 0) return value;
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool is_interior(PageKind kind) {
  return kind == PageKind::index_interior || kind == PageKind::table_interior;
}

// How much of a payload of this size stays in a page of which so much is usable.
std::uint64_t local_bytes(std::uint64_t size, std::uint64_t usable, bool is_table_leaf) {
  const std::uint64_t most = is_table_leaf ? usable - 35 : (usable - 12) * 64 / 255 - 23;
  if (size <= most) return size;
  const std::uint64_t least = (usable - 12) * 32 / 255 - 23;
  const std::uint64_t fitting = least + (size - least) % (usable - 4);
  return fitting <= most ? fitting : least;
}

std::optional<Cell> parse_cell(std::string_view page, std::size_t at, PageKind kind) {
  Cursor cursor(page.substr(at));
  Cell cell;
  if (is_interior(kind)) cell.child = cursor.take_32();
  if (kind == PageKind::table_interior) {
    cell.rowid = static_cast<std::int64_t>(cursor.take_varint());
    return cursor.is_good() ? std::optional(cell) : std::nullopt;
  }
  cell.size = cursor.take_varint();
  if (kind == PageKind::table_leaf) cell.rowid = static_cast<std::int64_t>(cursor.take_varint());
  // Nothing SQLite stores is larger.
  if (!cursor.is_good() || cell.size == 0 || cell.size > 0x7FFF'FFFF) return std::nullopt;
  const std::uint64_t local = local_bytes(cell.size, page.size(), kind == PageKind::table_leaf);
  cell.local = cursor.take(local);
  if (local < cell.size) cell.overflow = cursor.take_32();
  if (!cursor.is_good()) return std::nullopt;
  return cell;
}

std::size_t bytes_of(std::uint64_t serial) {
  constexpr std::size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  if (serial < 12) return sizes[serial];
  return static_cast<std::size_t>((serial - 12) / 2);
}

// Never stored; SQLite reads them as null.
bool is_reserved(std::uint64_t serial) { return serial == 10 || serial == 11; }

std::int64_t read_integer(std::string_view bytes) {
  if (bytes.empty()) return 0;
  auto value =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<signed char>(bytes[0])));
  for (const char byte : bytes.substr(1)) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

Value read_value(std::uint64_t serial, std::string_view bytes) {
  Value value;
  if (serial == 0 || is_reserved(serial)) return value;
  if (serial == 7) {
    value.kind = Value::Kind::real;
    value.real = std::bit_cast<double>(read_integer(bytes));
  } else if (serial < 12) {
    value.kind = Value::Kind::integer;
    value.integer = serial == 8 ? 0 : serial == 9 ? 1 : read_integer(bytes);
  } else {
    value.kind = serial % 2 == 0 ? Value::Kind::blob : Value::Kind::text;
    value.bytes = bytes;
  }
  return value;
}

}  // namespace

std::optional<PageCells> parse_page(std::string_view whole, std::size_t usable, bool is_first) {
  const std::size_t begin = is_first ? 100 : 0;
  // The least that SQLite works with.
  if (usable < 480 || usable > whole.size()) return std::nullopt;
  const std::string_view page = whole.substr(0, usable);
  const auto kind = static_cast<unsigned char>(page[begin]);
  if (kind != 2 && kind != 5 && kind != 10 && kind != 13) return std::nullopt;
  PageCells found;
  found.kind = static_cast<PageKind>(kind);
  const std::size_t header = is_interior(found.kind) ? 12 : 8;
  const std::size_t count = big_endian_16(page, begin + 3);
  const std::size_t pointers = begin + header;
  if (is_interior(found.kind)) found.right_child = big_endian_32(page, begin + 8);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t pointer = pointers + 2 * i;
    if (pointer + 2 > page.size()) {
      found.is_whole = false;
      break;
    }
    const std::size_t said = big_endian_16(page, pointer);
    // As SQLite does: what a page of this size cannot mean is left out.
    const std::size_t at = said % whole.size();
    if (at != said) found.is_whole = false;
    std::optional<Cell> cell;
    if (at >= pointers && at < page.size()) cell = parse_cell(page, at, found.kind);
    if (cell) {
      found.cells.push_back(*cell);
    } else {
      found.is_whole = false;
    }
  }
  return found;
}

std::optional<Record> parse_record(std::string_view payload) {
  Cursor cursor(payload);
  const std::uint64_t header_bytes = cursor.take_varint();
  const std::size_t before = payload.size() - cursor.rest().size();
  if (!cursor.is_good() || header_bytes < before || header_bytes > payload.size()) {
    return std::nullopt;
  }
  Cursor header(payload.substr(before, header_bytes - before));
  std::string_view rest = payload.substr(header_bytes);
  Record record;
  while (!header.rest().empty()) {
    const std::uint64_t serial = header.take_varint();
    if (record.values.size() == columns_max) return std::nullopt;
    const std::size_t size = std::min(bytes_of(serial), rest.size());
    // Only text and bytes make sense when they are cut off.
    const bool is_short = size < bytes_of(serial) && serial < 12;
    if (!header.is_good() || is_short || is_reserved(serial)) record.is_whole = false;
    if (!header.is_good() || is_short) break;
    record.values.push_back(read_value(serial, rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  return record;
}

}  // namespace perdure::sqlite
