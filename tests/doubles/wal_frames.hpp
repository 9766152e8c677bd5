// Where the frames of a write-ahead log end: behind them lie zeros, or an earlier round's.

#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace perdure {

inline constexpr std::size_t wal_header_bytes = 32;
inline constexpr std::size_t wal_frame_bytes = 24 + 8192;

/// Of the bytes of a log; each frame has the header's two salts.
[[nodiscard]] inline std::size_t frames_end(std::string_view log) {
  const std::string_view salts = log.substr(0, wal_header_bytes).substr(16, 8);
  std::size_t end = wal_header_bytes;
  while (end + wal_frame_bytes <= log.size() && log.substr(end + 8, 8) == salts) {
    end += wal_frame_bytes;
  }
  return end;
}

/// Of the log beside the store at `path`.
[[nodiscard]] inline std::size_t frames_end_of(const std::string& path) {
  std::ifstream file(path + "-wal", std::ios::binary);
  return frames_end(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace perdure
