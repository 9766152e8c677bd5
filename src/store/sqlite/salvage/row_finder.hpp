// Finding rows in the pages of a damaged file by the shapes of their tables.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// The pages of a database file, read without SQLite: as the write-ahead log has them,
// or else as the file has them.
//
// For files that SQLite refuses, or of which it reads less than is there. A frame of the
// log counts if its own checksum is right, whatever became of those before it.

/// What Perdure makes stores with. Of a file with other pages, which another program made, nothing
/// is found.
inline constexpr std::uint32_t page_bytes = summed_page_bytes;

/// Bytes that can be read at any place.
struct Bytes {
  std::uint64_t size = 0;
  /// What is there, up to `count`: fewer at the end.
  std::function<std::string(std::uint64_t offset, std::size_t count)> read{};

  [[nodiscard]] static Bytes of(std::string_view bytes);
  /// Of the file; none if there is no such file. Throws std::system_error if it cannot be read.
  [[nodiscard]] static Bytes of_file(const std::string& path);
};

enum class LogPart : std::uint8_t {
  all,
  up_to_damage,  ///< As SQLite reads it: all pages are of one moment.
};

class PageSource {
 public:
  PageSource(Bytes file, Bytes log, LogPart part = LogPart::all);

  /// How many bytes of a page SQLite uses; those behind hold its sum, if pages have sums.
  [[nodiscard]] std::uint32_t usable_size() const { return usable_size_; }
  /// Pages are numbered from 1.
  [[nodiscard]] std::uint32_t page_count() const { return page_count_; }
  /// Empty if the file ends before it; where it ends inside of it, the rest is zeros.
  [[nodiscard]] std::optional<std::string> read(std::uint32_t page) const;
  /// Whether these bytes, which read() gave for it, are known to be what was written, and of the
  /// same moment as all other pages.
  [[nodiscard]] bool is_proven(std::uint32_t page, std::string_view bytes) const;
  /// Frames of the log count that come after a damaged one: pages may be of different moments.
  [[nodiscard]] bool has_gap() const { return has_gap_; }

 private:
  void find_usable_size();
  void read_log(LogPart part);

  Bytes file_;
  Bytes log_;
  std::uint32_t usable_size_ = page_bytes;
  std::uint32_t page_count_ = 0;
  bool has_gap_ = false;
  std::unordered_map<std::uint32_t, std::uint64_t> in_log_;  ///< Where in the log a page is.
};

// What rows of each table look like, by which they are known where nothing else tells.

/// What rows of a table look like. Columns: `k` the rowid, `i` a number, `t` text, `h` 32
/// bytes, `b` bytes, `v` any value; a capital may also be NULL.
struct Shape {
  std::string_view name{};  ///< Of the table or index.
  std::string_view into{};  ///< The table it is written to.
  std::string_view columns{};
  bool is_table_tree = false;     ///< Kept by rowid; else an index, or a table that is like one.
  bool is_known_by_shape = true;  ///< Nothing else in the file looks like it.
  std::size_t key = 0;            ///< So many columns at its front say which row it is.
  /// So many at its front are worth having without the others; 0: none are.
  std::size_t enough = 0;

  /// Else only kept to mend others, and proves nothing by itself.
  [[nodiscard]] bool is_of_a_table() const { return !into.starts_with("temp."); }
};

// The rows of a store file, found without SQLite.
//
// First along the trees, from their roots. If that met damage, also in every page that no
// tree led to: there a row is known by its shape, the number and kinds of its columns.
// Where a tree says which table it is, a row may have one column that does not fit: what SQLite
// still reads of it must not get lost because of a kind that one bit made another.

struct FoundRow {
  const Shape* shape = nullptr;
  std::vector<Value> values{};  ///< One for each column of the shape.
  bool is_doubtful = false;     ///< Nothing proves that it is what was written.
};

struct FoundPages {
  std::uint64_t unreadable = 0;
  bool is_whole = true;  ///< All trees led everywhere they should.
};

struct RowVisitor {
  std::function<void(FoundRow&&)> row;
  /// Called between pages; false: stop.
  std::function<bool(std::uint64_t page)> go_on;
};

FoundPages find_rows(const PageSource& source, const RowVisitor& visit);

/// The same for bytes in memory: what a fuzzer calls. Returns how many rows there are.
[[nodiscard]] std::uint64_t count_rows(std::string_view file, std::string_view log);

}  // namespace perdure::sqlite
