// The VFS under every connection: sums of pages, and room in the WAL.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

namespace perdure::sqlite {

/// Numbers as SQLite's files have them; what is behind the end of the bytes is 0.
[[nodiscard]] std::uint32_t big_endian_32(std::string_view bytes, std::size_t offset);
[[nodiscard]] std::uint32_t big_endian_16(std::string_view bytes, std::size_t offset);

// A sum in the last 8 bytes of every page of a store's main file, by which `check` finds
// damage anywhere in it: in a title, in free space, in the file's own header.
//
// SQLite leaves those bytes alone ("reserved bytes", told by byte 20 of the file). They are
// written with the page, whole, when it goes to the main file; frames of
// the WAL have sums of SQLite's own. Files without room for them, as earlier builds made
// them, stay as they are.
//
// The sum is SQLite's own for WAL frames, started with the page's number: two running sums of
// 32 bits, each fed from the other. One step can be undone from the other's result, so a
// change within one word, a page of zeros, and a page in another's place are always found;
// anything else but for one case in 2^64.

/// Of stores that Perdure makes; pages of other sizes have no sums.
inline constexpr std::uint32_t summed_page_bytes = 8192;
inline constexpr std::uint32_t sum_bytes = 8;

using PageSum = std::array<char, sum_bytes>;

/// `page` is `summed_page_bytes` long; its last 8 bytes do not count.
/// Pages are numbered from 1.
[[nodiscard]] PageSum sum_of_page(std::string_view page, std::uint32_t number);

[[nodiscard]] bool has_right_sum(std::string_view page, std::uint32_t number);

/// How much of a file's beginning the next two need.
inline constexpr std::size_t layout_bytes = 24;

[[nodiscard]] bool is_header(std::string_view beginning);
/// Whether the pages of a file that begins so have sums.
[[nodiscard]] bool says_sums(std::string_view beginning);

// Room in a write-ahead log before it is needed. A log that grows by every commit is a file of
// many small pieces, in the kernel's cache as on the disk, and each sync has to write its new
// length too: overwriting a length of zeros that is there already takes about a tenth off a
// commit (bench/run.py, `session_vs_append`).
//
// SQLite stops reading a log at the first frame that does not belong to it; zeros do not.

/// Of one open log. It is in memory of SQLite's, which is never destroyed.
class LogRoom {
 public:
  /// Writes to `log`, and zeros behind what was written if the log ended there: as much again as
  /// the log is long, from 64 KiB up to 1 MiB. Where zeros cannot be written there are none: that
  /// is not a failure. Returns a result code of SQLite's. The caller is the only writer, so no
  /// other frames are behind the end.
  int write(sqlite3_file& log, const void* data, int size, sqlite3_int64 offset);

 private:
  sqlite3_int64 length_ = 0;  // The log is this long at least, unless it was cut.
};

// Between SQLite and the files: puts sums into the pages of a main file as they are written,
// and room into a write-ahead log as it grows, over whatever
// VFS is below. All else passes through untouched; of other files this sees only how they are
// opened.
//
// Reading does not look at sums. A store with a damaged page must stay as readable as it
// can: entries have hashes, and one flipped byte in a title is no reason to refuse a page of
// sessions. Only `check` asks for mismatches: it sees here exactly the pages that a reader
// gets from the main file. A page that a crash left half-written there, and whose good copy
// is in the WAL, SQLite does not read from the main file, and so it is not a finding.
//
// One for each connection, registered with SQLite under a name of its own and gone with it:
// what it knows is about that one main file, and the VFS below need not live for ever.

class SummingVfs {
 public:
  /// `below` must outlive this.
  explicit SummingVfs(sqlite3_vfs& below);
  ~SummingVfs();
  SummingVfs(const SummingVfs&) = delete;
  SummingVfs& operator=(const SummingVfs&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  /// The main file has no first page yet; when it has, that will reserve room for sums. Other
  /// pages may be written before it.
  void expect_sums() { expects_sums_ = true; }

  /// From now on the numbers of pages that are read from the main file and do not match their sums
  /// are added to `wrong`, which must outlive this. A page read twice is there twice.
  void note_wrong_pages(std::vector<std::uint32_t>* wrong) { wrong_ = wrong; }

 private:
  friend struct SummingMethods;
  struct File;
  enum class Sums : std::uint8_t { unknown, no, yes };

  // Each returns a result code of SQLite's.
  int read(File& file, void* data, int size, sqlite3_int64 offset);
  int write(File& file, const void* data, int size, sqlite3_int64 offset);
  int learn(File& file, std::string_view page, sqlite3_int64 offset);
  [[nodiscard]] bool has_sums() const;

  sqlite3_vfs& below_;
  sqlite3_vfs vfs_{};
  const std::string name_;
  Sums sums_ = Sums::unknown;
  bool expects_sums_ = false;
  std::vector<std::uint32_t>* wrong_ = nullptr;
};

}  // namespace perdure::sqlite
