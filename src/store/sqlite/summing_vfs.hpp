// Between SQLite and the files: puts sums into the pages of a main file as they are written
// (page_sums.hpp), and room into a write-ahead log as it grows (log_room.hpp), over whatever
// VFS is below. All else passes through untouched; of other files this sees only how they are
// opened.
//
// Reading does not look at sums. A store with a damaged page must stay as readable as it
// can: entries have hashes, and one flipped byte in a title is no reason to refuse a page of
// sessions. Only who asks is told: `check`, which sees here exactly the pages that a reader
// gets from the main file. A page that a crash left half-written there, and whose good copy
// is in the WAL, SQLite does not read from the main file, and so it is no finding.
//
// One for each connection, registered with SQLite under a name of its own and gone with it:
// what it knows is about that one main file, and the VFS below need not live for ever.

#pragma once

#include <cstdint>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

namespace perdure::sqlite {

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
