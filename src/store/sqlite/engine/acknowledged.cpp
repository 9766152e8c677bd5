// What SQLite says of the WAL, then the record that every commit leaves.

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
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// Layouts are those of SQLite's "WAL-mode File Format", which does not change. The index is memory
// that all processes on the file share: reading it costs no call to the kernel. It begins with two
// copies of a header of 12 words, then says what checkpoints did.

namespace {

constexpr std::size_t header_words = 12;

/// Calls `use(words, barrier)`. Returns SQLite's code.
template <class Use>
int with_index(const Connection& connection, Use use) {
  constexpr int region_bytes = 32768;
  sqlite3_file* file = connection.file(SQLITE_FCNTL_FILE_POINTER);
  if (file->pMethods->iVersion < 2) return SQLITE_IOERR_SHMMAP;
  const sqlite3_file* wal = connection.file(SQLITE_FCNTL_JOURNAL_POINTER);
  void volatile* memory = nullptr;
  const int code = file->pMethods->xShmMap(file, 0, region_bytes, 0, &memory);
  if (code == SQLITE_OK && memory != nullptr) {
    use(static_cast<std::uint32_t volatile*>(memory), [&] { file->pMethods->xShmBarrier(file); });
  }
  // Before SQLite itself has opened the WAL it does not know that the file has the memory, and
  // would not give it back when it closes the file.
  if (wal == nullptr || wal->pMethods == nullptr) file->pMethods->xShmUnmap(file, 0);
  return code;
}

}  // namespace

std::optional<WalIndex> read_wal_index(Connection& connection) noexcept {
  std::optional<WalIndex> index;
  with_index(connection, [&](const std::uint32_t volatile* words, auto barrier) {
    barrier();
    const std::uint32_t flags_and_size = words[3];
    std::array<std::uint16_t, 2> halves{};
    std::memcpy(halves.data(), &flags_and_size, sizeof flags_and_size);
    index = {.salts = {words[8], words[9]},
             .frames = words[4],
             .written_back = words[2 * header_words],
             .page_size = halves[1],
             .pages = words[5]};
    barrier();
    for (std::size_t i = 0; i < header_words; ++i) {
      if (words[i] != words[header_words + i]) index.reset();
    }
  });
  return index;
}

void forget_wal_index(Connection& connection) {
  const int code = with_index(connection, [](std::uint32_t volatile* words, auto barrier) {
    for (std::size_t i = 0; i < 2 * header_words; ++i) words[i] = 0;
    barrier();
  });
  if (code != SQLITE_OK) throw SqliteError(code, "cannot map the index of the WAL");
}

// A page is only marked if its frame says something else than the main file does: what a
// write-back leaves as it was proves nothing. The last bytes of a page are left out of every
// comparison: where pages carry sums, the main file has one and the WAL does not.

namespace {

constexpr std::size_t wal_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::size_t compared_bytes = summed_page_bytes - sum_bytes;
constexpr std::size_t pages_tried_max = 8;

using PageImage = std::array<char, summed_page_bytes>;

int read_page(Connection& connection, std::uint64_t page, PageImage& image) {
  return connection.read_file(SQLITE_FCNTL_FILE_POINTER, image.data(), image.size(),
                              static_cast<std::int64_t>((page - 1) * summed_page_bytes));
}

std::int64_t frame_at(std::uint32_t number) {
  return static_cast<std::int64_t>(
      wal_header_bytes + (number - 1) * (frame_header_bytes + std::uint64_t{summed_page_bytes}));
}

/// Which page of the store frame `number` holds; 0 if that cannot be read.
std::uint32_t page_in_frame(Connection& connection, std::uint32_t number) {
  std::array<char, 4> bytes{};
  const int code = connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, bytes.data(), bytes.size(),
                                        frame_at(number));
  return code == SQLITE_OK ? big_endian_32({bytes.data(), bytes.size()}, 0) : 0;
}

// That a page is not there proves less after a power cut: the record may be from a time before
// the file grew, and the file since have shrunk.
bool is_as_before(Connection& connection, const PageMark& mark, bool same_boot) {
  PageImage image{};
  if (mark.page == 0) return false;
  const int code = read_page(connection, mark.page, image);
  if (mark.sum == absent_page) return same_boot && code == SQLITE_IOERR_SHORT_READ;
  return code == SQLITE_OK && sum_of(image.data(), compared_bytes) == mark.sum;
}

// Nothing if the write-back of this frame would change nothing, or it cannot be read.
PageMark mark_frame(Connection& connection, std::uint32_t page, std::uint32_t frame) {
  PageImage image{};
  PageImage before{};
  const int code = read_page(connection, page, before);
  if (code == SQLITE_IOERR_SHORT_READ) return {.page = page, .sum = absent_page};
  const auto at = frame_at(frame) + static_cast<std::int64_t>(frame_header_bytes);
  if (code != SQLITE_OK ||
      connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, image.data(), image.size(), at) !=
          SQLITE_OK ||
      std::memcmp(image.data(), before.data(), compared_bytes) == 0) {
    return {};
  }
  return {.page = page, .sum = sum_of(before.data(), compared_bytes)};
}

// Of each page only its last frame counts: it is the one that is written back.
PageMark mark_last(Connection& connection, const WalIndex& index) {
  if (index.page_size != summed_page_bytes) return {};
  std::array<std::uint32_t, pages_tried_max> tried{};
  std::size_t count = 0;
  for (std::uint32_t frame = index.frames; frame > index.written_back; --frame) {
    const std::uint32_t page = page_in_frame(connection, frame);
    if (page == 0 || page > index.pages || std::ranges::find(tried, page) != tried.end()) continue;
    const PageMark mark = mark_frame(connection, page, frame);
    if (mark.page != 0 && mark.sum == absent_page) continue;
    if (mark.page != 0) return mark;
    tried[count] = page;
    if (++count == tried.size()) break;
  }
  return {};
}

PageMark mark_highest(Connection& connection, const WalIndex& index) {
  if (index.page_size != summed_page_bytes) return {};
  std::uint32_t highest = 0;
  std::uint32_t its_frame = 0;
  for (std::uint32_t frame = index.written_back + 1; frame <= index.frames; ++frame) {
    const std::uint32_t page = page_in_frame(connection, frame);
    if (page < highest || page > index.pages) continue;
    highest = page;
    its_frame = frame;
  }
  return highest == 0 ? PageMark{} : mark_frame(connection, highest, its_frame);
}

}  // namespace

bool Acknowledged::are_missing(Needs needs) {
  const WalRecord record = lock_file_.read_record();
  const bool same_boot = record.boot == boot_ && boot_ != 0;
  const std::uint32_t needed = same_boot && needs == Needs::all ? record.frames : record.synced;
  if (needed == 0) return false;
  const auto index = read_wal_index(connection_);
  if (!index || (index->salts == record.salts && index->frames >= needed)) return false;
  return std::ranges::any_of(record.before, [&](const PageMark& mark) {
    return is_as_before(connection_, mark, same_boot);
  });
}

void Acknowledged::note(std::uint32_t frames, bool synced) {
  const auto index = read_wal_index(connection_);
  // Another program wrote meanwhile: what of it is synced nobody knows.
  if (!index || index->frames != frames) return;
  const WalRecord last = lock_file_.last_record();
  const bool goes_on = last.frames > 0 && last.salts == index->salts && last.boot == boot_;
  WalRecord record{.salts = index->salts, .frames = frames, .boot = boot_};
  record.synced = synced ? frames : goes_on ? std::min(last.synced, frames) : 0;
  if (goes_on) record.before = last.before;
  if (record.before[0].page == 0) record.before[0] = mark_last(connection_, *index);
  keep(record);
}

void Acknowledged::begin_write_back() {
  WalRecord record = lock_file_.read_record();
  const auto index = read_wal_index(connection_);
  if (record.frames == 0 || !index || index->salts != record.salts) return;
  record.before = {mark_last(connection_, *index), mark_highest(connection_, *index)};
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
    const bool wrote = before && *before != *index;
    record.salts = index->salts;
    record.frames = index->frames;
    record.synced = same_wal ? std::min(last.synced, index->frames) : 0;
    if (wrote) record.synced = index->frames;
    // Not the old marks: they may be of a page that was written back since.
    record.before[0] = mark_last(connection_, *index);
  }
  keep(record);
}

void Acknowledged::keep(WalRecord record) {
  record.seal();
  lock_file_.keep(record);
}

}  // namespace perdure::sqlite
