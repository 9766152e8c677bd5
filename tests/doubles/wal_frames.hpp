// Where the frames of a write-ahead log end: behind them lie zeros, or an earlier round's.

#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

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

/// Where each commit of a log ends: its last frame says how large the main file is by then.
[[nodiscard]] inline std::vector<std::size_t> commit_ends(std::string_view log) {
  std::vector<std::size_t> ends;
  const std::size_t last = frames_end(log);
  for (std::size_t at = wal_header_bytes; at < last; at += wal_frame_bytes) {
    if (log.substr(at + 4, 4) != std::string_view("\0\0\0\0", 4)) {
      ends.push_back(at + wal_frame_bytes);
    }
  }
  return ends;
}

/// Of the log beside the store at `path`.
[[nodiscard]] inline std::size_t frames_end_of(const std::string& path) {
  std::ifstream file(path + "-wal", std::ios::binary);
  return frames_end(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace perdure
