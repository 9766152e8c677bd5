// The pages of a database file, read without SQLite: as the write-ahead log has them,
// or else as the file has them.
//
// For files that SQLite refuses, or of which it reads less than is there. A frame of the
// log counts if its own checksum is right, whatever became of those before it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace perdure::sqlite {

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

  [[nodiscard]] std::uint32_t page_size() const { return page_size_; }
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
  void find_page_size();
  void find_usable_size();
  void read_log(LogPart part);

  Bytes file_;
  Bytes log_;
  std::uint32_t page_size_ = 0;
  std::uint32_t usable_size_ = 0;
  std::uint32_t page_count_ = 0;
  bool has_gap_ = false;
  std::unordered_map<std::uint32_t, std::uint64_t> in_log_;  ///< Where in the log a page is.
};

}  // namespace perdure::sqlite
