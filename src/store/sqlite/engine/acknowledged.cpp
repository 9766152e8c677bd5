// SQLite's index of the WAL, then the record that every commit leaves.

#include "sqlite/engine/acknowledged.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sqlite3.h>

#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {

// Two copies of a header of 48 bytes, then what checkpoints did, then the pages of the first frames;
// every further region holds only pages, and a table to find them.

namespace {

constexpr int index_region_bytes = 32768;
constexpr std::size_t index_header_bytes = 48;
constexpr std::size_t both_headers_bytes = 2 * index_header_bytes;
constexpr std::size_t before_pages_bytes = 136;
constexpr std::uint32_t frames_per_region = 4096;
constexpr std::uint32_t frames_of_first = frames_per_region - before_pages_bytes / 4;

using Shared = unsigned char volatile*;

sqlite3_file* file_by(Connection& connection, int which) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", which, static_cast<void*>(&file));
  return file;
}

/// The memory, as long as this lives. Before SQLite itself has opened the WAL it does not know
/// that the file has it, and would not give it back when it closes the file.
class SharedMemory {
 public:
  explicit SharedMemory(Connection& connection)
      : file_(file_by(connection, SQLITE_FCNTL_FILE_POINTER)) {
    const sqlite3_file* wal = file_by(connection, SQLITE_FCNTL_JOURNAL_POINTER);
    is_sqlites_ = wal != nullptr && wal->pMethods != nullptr;
  }
  ~SharedMemory() {
    if (can_be_shared() && !is_sqlites_) file_->pMethods->xShmUnmap(file_, 0);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Null if it is not there. The code is SQLite's.
  Shared map(int region, int& code) {
    void volatile* memory = nullptr;
    code = can_be_shared() ? file_->pMethods->xShmMap(file_, region, index_region_bytes, 0, &memory)
                           : SQLITE_IOERR_SHMMAP;
    return code == SQLITE_OK ? static_cast<Shared>(memory) : nullptr;
  }
  void barrier() { file_->pMethods->xShmBarrier(file_); }

 private:
  [[nodiscard]] bool can_be_shared() const { return file_->pMethods->iVersion >= 2; }

  sqlite3_file* file_;
  bool is_sqlites_ = false;
};

std::uint32_t shared_word(const unsigned char volatile* bytes, std::size_t at) {
  std::array<unsigned char, 4> copy{};
  for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = bytes[at + i];
  std::uint32_t word = 0;
  std::memcpy(&word, copy.data(), sizeof word);
  return word;
}

std::uint32_t page_size_from(std::uint32_t flags_and_size) {
  std::array<std::uint16_t, 2> halves{};
  std::memcpy(halves.data(), &flags_and_size, sizeof flags_and_size);
  return halves[1] == 1 ? 65536U : halves[1];
}

bool are_copies_equal(const unsigned char volatile* bytes) {
  for (std::size_t i = 0; i < index_header_bytes; ++i) {
    if (bytes[i] != bytes[index_header_bytes + i]) return false;
  }
  return true;
}

}  // namespace

std::optional<WalIndex> read_wal_index(Connection& connection) noexcept {
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(0, code);
  if (bytes == nullptr) return std::nullopt;
  memory.barrier();
  const WalIndex index{.salts = {shared_word(bytes, 32), shared_word(bytes, 36)},
                       .frames = shared_word(bytes, 16),
                       .written_back = shared_word(bytes, both_headers_bytes),
                       .page_size = page_size_from(shared_word(bytes, 12)),
                       .pages = shared_word(bytes, 20)};
  memory.barrier();
  if (!are_copies_equal(bytes)) return std::nullopt;
  return index;
}

std::uint32_t page_in_frame(Connection& connection, std::uint32_t number) noexcept {
  const bool is_in_first = number <= frames_of_first;
  const std::uint32_t beyond = is_in_first ? 0 : number - frames_of_first - 1;
  const std::uint32_t region = is_in_first ? 0 : 1 + beyond / frames_per_region;
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(static_cast<int>(region), code);
  if (bytes == nullptr || number == 0) return 0;
  if (is_in_first) return shared_word(bytes, before_pages_bytes + 4 * std::size_t{number - 1});
  return shared_word(bytes, 4 * std::size_t{beyond % frames_per_region});
}

void forget_wal_index(Connection& connection) {
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(0, code);
  if (code != SQLITE_OK) throw SqliteError(code, "cannot map the index of the WAL");
  for (std::size_t i = 0; bytes != nullptr && i < both_headers_bytes; ++i) bytes[i] = 0;
  if (bytes != nullptr) memory.barrier();
}

// A page is only marked if its frame says something else than the main file does: what a
// write-back leaves as it was proves nothing. The last bytes of a page are left out of every
// comparison: where pages carry sums, the main file has one and the WAL does not.

namespace {

constexpr std::size_t marked_page_bytes = 8192;  // What Perdure makes stores with.
constexpr std::size_t compared_bytes = marked_page_bytes - 8;
constexpr std::int64_t wal_start_bytes = 32;
constexpr std::int64_t frame_start_bytes = 24;
constexpr std::size_t pages_tried_max = 8;

using PageImage = std::array<char, marked_page_bytes>;

int read_at(Connection& connection, int which, std::int64_t offset, PageImage& image) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", which, static_cast<void*>(&file));
  if (file == nullptr || file->pMethods == nullptr) return SQLITE_IOERR_READ;
  return file->pMethods->xRead(file, image.data(), static_cast<int>(image.size()), offset);
}

int read_main(Connection& connection, std::uint64_t page, PageImage& image) {
  const auto offset = static_cast<std::int64_t>((page - 1) * marked_page_bytes);
  return read_at(connection, SQLITE_FCNTL_FILE_POINTER, offset, image);
}

int read_frame(Connection& connection, std::uint32_t number, PageImage& image) {
  const std::int64_t frame_bytes = frame_start_bytes + std::int64_t{marked_page_bytes};
  return read_at(connection, SQLITE_FCNTL_JOURNAL_POINTER,
                 wal_start_bytes + (number - 1) * frame_bytes + frame_start_bytes, image);
}

std::uint32_t pages_of_main(Connection& connection) {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  if (file->pMethods->xFileSize(file, &size) != SQLITE_OK) return 0;
  return static_cast<std::uint32_t>(size / std::int64_t{marked_page_bytes});
}

}  // namespace

Acknowledged::Acknowledged(Connection& connection, LockFile& lock_file)
    : connection_(connection), lock_file_(lock_file) {}

bool Acknowledged::are_missing(Needs needs) {
  const WalRecord record = lock_file_.read_record();
  const bool same_boot = record.boot == boot_ && boot_ != 0;
  const std::uint32_t needed = same_boot && needs == Needs::all ? record.frames : record.synced;
  if (needed == 0) return false;
  const auto index = read_wal_index(connection_);
  if (!index || (index->salts == record.salts && index->frames >= needed)) return false;
  return std::ranges::any_of(record.before,
                             [&](const PageMark& mark) { return is_as_before(mark, same_boot); });
}

void Acknowledged::note(std::uint32_t frames, bool synced) {
  const auto index = read_wal_index(connection_);
  // Another program wrote meanwhile: what of it is synced nobody knows.
  if (!index || index->frames != frames) return lock_file_.touch();
  const WalRecord last = lock_file_.last_record();
  const bool goes_on = last.frames > 0 && last.salts == index->salts && last.boot == boot_;
  WalRecord record{.salts = index->salts, .frames = frames, .boot = boot_};
  record.synced = synced ? frames : goes_on ? std::min(last.synced, frames) : 0;
  if (goes_on) record.before = last.before;
  if (record.before[0].page == 0) record.before[0] = mark_last(*index);
  keep(record);
}

void Acknowledged::begin_write_back() {
  WalRecord record = lock_file_.read_record();
  const auto index = read_wal_index(connection_);
  if (record.frames == 0 || !index || index->salts != record.salts) return;
  record.before = {mark_last(*index), mark_highest(*index)};
  keep(record);
}

void Acknowledged::end_write_back(bool complete) {
  if (complete) return keep({.boot = boot_});
  begin_write_back();
}

void Acknowledged::begin(const std::optional<WalIndex>& before) {
  const WalRecord last = lock_file_.read_record();
  const auto index = read_wal_index(connection_);
  WalRecord record{.boot = boot_};
  if (index && index->frames > index->written_back) {
    const bool same_wal = last.salts == index->salts && last.frames > 0;
    const bool wrote = before && (before->salts != index->salts || before->frames != index->frames);
    record.salts = index->salts;
    record.frames = index->frames;
    record.synced = same_wal ? std::min(last.synced, index->frames) : 0;
    if (wrote) record.synced = index->frames;
    // Not the old marks: they may be of a page that was written back since.
    record.before[0] = mark_last(*index);
  }
  keep(record);
}

// That a page is not there proves less after a power cut: the record may be from a time before
// the file grew, and the file since have shrunk.
bool Acknowledged::is_as_before(const PageMark& mark, bool same_boot) const {
  PageImage image{};
  if (mark.page == 0) return false;
  const int code = read_main(connection_, mark.page, image);
  if (mark.sum == absent_page) return same_boot && code == SQLITE_IOERR_SHORT_READ;
  return code == SQLITE_OK && sum_of(image.data(), compared_bytes) == mark.sum;
}

// Nothing if the write-back of this frame would change nothing, or it cannot be read.
std::optional<PageMark> Acknowledged::mark_frame(std::uint32_t page, std::uint32_t frame) const {
  PageImage image{};
  PageImage before{};
  const int code = read_main(connection_, page, before);
  if (code == SQLITE_IOERR_SHORT_READ) return PageMark{.page = page, .sum = absent_page};
  if (code != SQLITE_OK || read_frame(connection_, frame, image) != SQLITE_OK ||
      std::memcmp(image.data(), before.data(), compared_bytes) == 0) {
    return std::nullopt;
  }
  return PageMark{.page = page, .sum = sum_of(before.data(), compared_bytes)};
}

// Of each page only its last frame counts: it is the one that is written back.
PageMark Acknowledged::mark_last(const WalIndex& index) const {
  if (index.page_size != marked_page_bytes) return {};
  const std::uint32_t main_pages = pages_of_main(connection_);
  std::array<std::uint32_t, pages_tried_max> tried{};
  std::size_t count = 0;
  for (std::uint32_t frame = index.frames; frame > index.written_back; --frame) {
    const std::uint32_t page = page_in_frame(connection_, frame);
    if (page == 0 || page > index.pages || page > main_pages) continue;
    if (std::ranges::find(tried, page) != tried.end()) continue;
    if (auto mark = mark_frame(page, frame); mark && mark->sum != absent_page) return *mark;
    tried[count] = page;
    if (++count == tried.size()) break;
  }
  return {};
}

PageMark Acknowledged::mark_highest(const WalIndex& index) const {
  if (index.page_size != marked_page_bytes) return {};
  std::uint32_t highest = 0;
  std::uint32_t its_frame = 0;
  for (std::uint32_t frame = index.written_back + 1; frame <= index.frames; ++frame) {
    const std::uint32_t page = page_in_frame(connection_, frame);
    if (page < highest || page > index.pages) continue;
    highest = page;
    its_frame = frame;
  }
  if (highest == 0) return {};
  return mark_frame(highest, its_frame).value_or(PageMark{});
}

void Acknowledged::keep(WalRecord record) {
  record.seal();
  lock_file_.touch(record);
}

}  // namespace perdure::sqlite
