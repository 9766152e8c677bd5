// A record says of each column what kind it is, and nothing of its table.

#include "sqlite/row_shapes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "sqlite/page_cells.hpp"
#include "sqlite/schema.hpp"

namespace perdure::sqlite {
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

}  // namespace perdure::sqlite
