// Numbers, sums, then room in the WAL, then the VFS that adds both.

#include "sqlite/engine/summing_vfs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <sqlite3.h>
#include <string_view>

namespace perdure::sqlite {

std::uint32_t big_endian_32(std::string_view bytes, std::size_t offset) {
  return big_endian_16(bytes, offset) << 16U | big_endian_16(bytes, offset + 2);
}

std::uint32_t big_endian_16(std::string_view bytes, std::size_t offset) {
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at]))
                             : 0;
  };
  return byte(offset) << 8U | byte(offset + 1);
}

// Words are little-endian on every machine: a store may be copied to another.

namespace {

using std::string_view_literals::operator""sv;

// Its last character is a NUL.
constexpr std::string_view file_magic = "SQLite format 3\0"sv;

std::uint32_t little_endian(std::uint32_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
}

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return little_endian(word);
}

}  // namespace

PageSum sum_of_page(std::string_view page, std::uint32_t number) {
  std::uint32_t one = number;
  std::uint32_t two = 0;
  for (std::size_t at = 0; at < page.size() - sum_bytes; at += 8) {
    one += word_at(page, at) + two;
    two += word_at(page, at + 4) + one;
  }
  return std::bit_cast<PageSum>(std::array{little_endian(one), little_endian(two)});
}

bool has_right_sum(std::string_view page, std::uint32_t number) {
  const PageSum sum = sum_of_page(page, number);
  return page.substr(page.size() - sum_bytes) == std::string_view(sum.data(), sum.size());
}

bool is_header(std::string_view beginning) {
  return beginning.size() >= layout_bytes && beginning.starts_with(file_magic);
}

bool says_sums(std::string_view beginning) {
  constexpr std::size_t page_size_at = 16;
  constexpr std::size_t reserved_at = 20;
  return is_header(beginning) && beginning[page_size_at] == summed_page_bytes >> 8U &&
         beginning[page_size_at + 1] == 0 && beginning[reserved_at] == sum_bytes;
}

// Zeros follow the write that needs them: a death in between leaves a log as SQLite alone would.

namespace {

constexpr int piece_bytes = 64 * 1024;
constexpr std::array<char, piece_bytes> zeros{};
constexpr sqlite3_int64 room_max = sqlite3_int64{1024} * 1024;

sqlite3_int64 with_room(sqlite3_int64 length) {
  const sqlite3_int64 wanted = length + std::min(length, room_max);
  return (wanted + piece_bytes - 1) / piece_bytes * piece_bytes;
}

}  // namespace

int LogRoom::write(sqlite3_file& log, const void* data, int size, sqlite3_int64 offset) {
  const int code = log.pMethods->xWrite(&log, data, size, offset);
  const sqlite3_int64 end = offset + size;
  if (code != SQLITE_OK || end <= length_) return code;
  if (log.pMethods->xFileSize(&log, &length_) != SQLITE_OK || length_ > end) return code;
  for (const sqlite3_int64 wanted = with_room(end); length_ < wanted;) {
    const auto piece = static_cast<int>(piece_bytes - length_ % piece_bytes);
    if (log.pMethods->xWrite(&log, zeros.data(), piece, length_) != SQLITE_OK) break;
    length_ += piece;
  }
  return code;
}

// SQLite's tables of functions. Each open file has its own, of the version of the one below, so
// that SQLite sees what the file below can do, and no more.
//
// Pages are always written whole: by a checkpoint, by a transaction without a WAL, by the
// rollback of one. The copy with the sum is on the stack: a write cannot fail for want of
// memory here.

/// An open main file or write-ahead log, in memory of SQLite's; the one below is behind it.
struct SummingVfs::File {
  sqlite3_file base{};
  SummingVfs* vfs = nullptr;
  sqlite3_io_methods methods{};
  LogRoom room{};

  [[nodiscard]] sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

struct SummingMethods {
  using File = SummingVfs::File;

  static File& as_file(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_vfs* below(sqlite3_vfs* vfs) {
    return &static_cast<SummingVfs*>(vfs->pAppData)->below_;
  }

  // The same call on what is below.
  template <auto method, class... Args>
  static auto pass(sqlite3_file* file, Args... args) {
    sqlite3_file* below = as_file(file).below();
    return (below->pMethods->*method)(below, args...);
  }
  template <auto method, class... Args>
  static auto pass_vfs(sqlite3_vfs* vfs, Args... args) {
    return (below(vfs)->*method)(below(vfs), args...);
  }

  static int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return as_file(file).vfs->read(as_file(file), data, size, offset);
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    return as_file(file).vfs->write(as_file(file), data, size, offset);
  }
  static int write_log(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    return as_file(file).room.write(*as_file(file).below(), data, size, offset);
  }
  static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                  int* out_flags);

  static sqlite3_io_methods methods_over(const sqlite3_io_methods& below, bool is_log) {
    using M = sqlite3_io_methods;
    M table{};
    table.iVersion = std::min(below.iVersion, 3);
    table.xClose = pass<&M::xClose>;
    table.xRead = is_log ? pass<&M::xRead, void*, int, sqlite3_int64> : read;
    table.xWrite = is_log ? write_log : write;
    table.xTruncate = pass<&M::xTruncate, sqlite3_int64>;
    table.xSync = pass<&M::xSync, int>;
    table.xFileSize = pass<&M::xFileSize, sqlite3_int64*>;
    table.xLock = pass<&M::xLock, int>;
    table.xUnlock = pass<&M::xUnlock, int>;
    table.xCheckReservedLock = pass<&M::xCheckReservedLock, int*>;
    table.xFileControl = pass<&M::xFileControl, int, void*>;
    table.xSectorSize = pass<&M::xSectorSize>;
    table.xDeviceCharacteristics = pass<&M::xDeviceCharacteristics>;
    table.xShmMap = pass<&M::xShmMap, int, int, int, void volatile**>;
    table.xShmLock = pass<&M::xShmLock, int, int, int>;
    table.xShmBarrier = pass<&M::xShmBarrier>;
    table.xShmUnmap = pass<&M::xShmUnmap, int>;
    table.xFetch = pass<&M::xFetch, sqlite3_int64, int, void**>;
    table.xUnfetch = pass<&M::xUnfetch, sqlite3_int64, void*>;
    return table;
  }

  // Without what loads extensions, which is never done.
  static void pass_all(sqlite3_vfs& vfs) {
    using V = sqlite3_vfs;
    vfs.xOpen = open;
    vfs.xDelete = pass_vfs<&V::xDelete, const char*, int>;
    vfs.xAccess = pass_vfs<&V::xAccess, const char*, int, int*>;
    vfs.xFullPathname = pass_vfs<&V::xFullPathname, const char*, int, char*>;
    vfs.xRandomness = pass_vfs<&V::xRandomness, int, char*>;
    vfs.xSleep = pass_vfs<&V::xSleep, int>;
    vfs.xCurrentTime = pass_vfs<&V::xCurrentTime, double*>;
    vfs.xGetLastError = pass_vfs<&V::xGetLastError, int, char*>;
    vfs.xCurrentTimeInt64 = pass_vfs<&V::xCurrentTimeInt64, sqlite3_int64*>;
  }
};

int SummingMethods::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                         int* out_flags) {
  // Any other file is the VFS's below, as if this were not here.
  const bool is_log = (flags & SQLITE_OPEN_WAL) != 0;
  if (!is_log && (flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return pass_vfs<&sqlite3_vfs::xOpen>(vfs, path, file, flags, out_flags);
  }
  File* self = std::construct_at(reinterpret_cast<File*>(file),
                                 File{.vfs = static_cast<SummingVfs*>(vfs->pAppData)});
  self->below()->pMethods = nullptr;
  const int code = pass_vfs<&sqlite3_vfs::xOpen>(vfs, path, self->below(), flags, out_flags);
  // SQLite closes what has methods, opened or not.
  if (const sqlite3_io_methods* methods = self->below()->pMethods) {
    self->methods = methods_over(*methods, is_log);
    self->base.pMethods = &self->methods;
  }
  return code;
}

// Not a copy of the one below: SQLite changes its `pNext` whenever a VFS comes or goes.
SummingVfs::SummingVfs(sqlite3_vfs& below)
    : below_(below), name_(fmt::format("perdure-sums-{}", fmt::ptr(this))) {
  vfs_.iVersion = std::min(below.iVersion, 2);
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + below.szOsFile;
  vfs_.mxPathname = below.mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  SummingMethods::pass_all(vfs_);
  sqlite3_vfs_register(&vfs_, 0);
}

SummingVfs::~SummingVfs() { sqlite3_vfs_unregister(&vfs_); }

bool SummingVfs::has_sums() const {
  return sums_ == Sums::yes || (sums_ == Sums::unknown && expects_sums_);
}

// What the first page says; that is this page, or one in the file.
int SummingVfs::learn(File& file, std::string_view page, sqlite3_int64 offset) {
  std::array<char, layout_bytes> header{};
  std::string_view beginning = page.substr(0, layout_bytes);
  if (offset != 0) {
    if (sums_ != Sums::unknown) return SQLITE_OK;
    sqlite3_file* below = file.below();
    const int code = below->pMethods->xRead(below, header.data(), header.size(), 0);
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    beginning = {header.data(), header.size()};
  }
  if (is_header(beginning)) sums_ = says_sums(beginning) ? Sums::yes : Sums::no;
  return SQLITE_OK;
}

int SummingVfs::write(File& file, const void* data, int size, sqlite3_int64 offset) {
  sqlite3_file* below = file.below();
  const std::string_view page(static_cast<const char*>(data), static_cast<std::size_t>(size));
  if (const int code = learn(file, page, offset); code != SQLITE_OK) return code;
  if (!has_sums() || page.size() != summed_page_bytes || offset % size != 0) {
    return below->pMethods->xWrite(below, data, size, offset);
  }
  std::array<char, summed_page_bytes> copy;
  std::ranges::copy(page, copy.begin());
  std::ranges::copy(sum_of_page(page, static_cast<std::uint32_t>(offset / size + 1)),
                    copy.end() - sum_bytes);
  return below->pMethods->xWrite(below, copy.data(), size, offset);
}

int SummingVfs::read(File& file, void* data, int size, sqlite3_int64 offset) {
  sqlite3_file* below = file.below();
  const int code = below->pMethods->xRead(below, data, size, offset);
  const std::string_view page(static_cast<const char*>(data), static_cast<std::size_t>(size));
  const bool is_page = page.size() == summed_page_bytes && offset % size == 0;
  if (wrong_ == nullptr || !is_page) return code;
  // A page that the file ends in was cut off: the rest of it came as zeros.
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  if (const int learnt = learn(file, page, offset); learnt != SQLITE_OK) return learnt;
  const auto number = static_cast<std::uint32_t>(offset / size + 1);
  if (!has_sums() || has_right_sum(page, number)) return code;
  try {
    wrong_->push_back(number);
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  }
  return code;
}

}  // namespace perdure::sqlite
