// Zeros follow the write that needs them: a death in between leaves a log as SQLite alone would.

#include "sqlite/log_room.hpp"

#include <algorithm>
#include <array>
#include <sqlite3.h>

namespace perdure::sqlite {
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

}  // namespace perdure::sqlite
