// What SQLite says of the WAL, then the record that every commit leaves.

#include "sqlite/engine/acknowledged.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sqlite3.h>
#include <string_view>

#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// Layouts are those of SQLite's "WAL-mode File Format", which does not change.

namespace {

constexpr std::size_t wal_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;

}  // namespace

std::optional<WalIndex> read_wal_index(Connection& connection) noexcept {
  int frames = 0;
  int written_back = 0;
  if (sqlite3_wal_checkpoint_v2(connection.handle(), "main", SQLITE_CHECKPOINT_NOOP, &frames,
                                &written_back) != SQLITE_OK) {
    return std::nullopt;
  }
  WalIndex index{.frames = static_cast<std::uint32_t>(std::max(frames, 0)),
                 .written_back = static_cast<std::uint32_t>(std::max(written_back, 0))};
  std::array<char, wal_header_bytes> header{};
  const int code = connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, header.data(), header.size());
  if (code == SQLITE_OK) {
    std::memcpy(index.salts.data(), header.data() + 16, sizeof index.salts);
    index.page_size = big_endian_32({header.data(), header.size()}, 8);
  }
  return index;
}

void forget_wal_index(Connection& connection) {
  constexpr int region_bytes = 32768;
  constexpr std::size_t both_headers_bytes = 96;
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  void volatile* memory = nullptr;
  const int code = file->pMethods->xShmMap(file, 0, region_bytes, 0, &memory);
  if (code != SQLITE_OK) throw SqliteError(code, "cannot map the index of the WAL");
  auto* bytes = static_cast<unsigned char volatile*>(memory);
  for (std::size_t i = 0; bytes != nullptr && i < both_headers_bytes; ++i) bytes[i] = 0;
  if (bytes != nullptr) file->pMethods->xShmBarrier(file);
  // SQLite does not know yet that the file has it, and would not give it back.
  file->pMethods->xShmUnmap(file, 0);
}

// A page is only marked if its frame says something else than the main file does: what a
// write-back leaves as it was proves nothing. The last bytes of a page are left out of every
// comparison: where pages carry sums, the main file has one and the WAL does not.

namespace {

constexpr std::size_t compared_bytes = summed_page_bytes - sum_bytes;
constexpr std::size_t pages_tried_max = 8;

using PageImage = std::array<char, summed_page_bytes>;

int read_page(Connection& connection, std::uint64_t page, PageImage& image) {
  return connection.read_file(SQLITE_FCNTL_FILE_POINTER, image.data(), image.size(),
                              static_cast<std::int64_t>((page - 1) * summed_page_bytes));
}

/// The store's page that a frame holds, and how many pages the store has if it ends a transaction.
struct FrameHeader {
  std::uint32_t page = 0;
  std::uint32_t pages = 0;
};

std::int64_t frame_at(std::uint32_t number) {
  return static_cast<std::int64_t>(
      wal_header_bytes + (number - 1) * (frame_header_bytes + std::uint64_t{summed_page_bytes}));
}

/// Of pages 0, which there are not, if it cannot be read.
FrameHeader read_frame_header(Connection& connection, std::uint32_t number) {
  std::array<char, 8> bytes{};
  const int code = connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, bytes.data(), bytes.size(),
                                        frame_at(number));
  if (code != SQLITE_OK) return {};
  const std::string_view words(bytes.data(), bytes.size());
  return {.page = big_endian_32(words, 0), .pages = big_endian_32(words, 4)};
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
  const std::uint32_t pages = read_frame_header(connection, index.frames).pages;
  std::array<std::uint32_t, pages_tried_max> tried{};
  std::size_t count = 0;
  for (std::uint32_t frame = index.frames; frame > index.written_back; --frame) {
    const std::uint32_t page = read_frame_header(connection, frame).page;
    if (page == 0 || page > pages || std::ranges::find(tried, page) != tried.end()) continue;
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
  const std::uint32_t pages = read_frame_header(connection, index.frames).pages;
  std::uint32_t highest = 0;
  std::uint32_t its_frame = 0;
  for (std::uint32_t frame = index.written_back + 1; frame <= index.frames; ++frame) {
    const std::uint32_t page = read_frame_header(connection, frame).page;
    if (page < highest || page > pages) continue;
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
