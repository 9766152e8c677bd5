// What SQLite says of the WAL in the memory that all processes on the file share.
//
// The layout is that of SQLite's "WAL-mode File Format", which does not change. Reading it
// costs no call to the kernel.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sqlite/connection.hpp"

namespace perdure::sqlite {

struct WalIndex {
  std::array<std::uint32_t, 2> salts{};  ///< Others whenever the WAL is begun anew.
  std::uint32_t frames = 0;              ///< Up to and with the last commit.
  std::uint32_t written_back = 0;        ///< So many of them are in the main file.
  std::uint32_t page_size = 0;
  std::uint32_t pages = 0;  ///< Of the store, after the last commit.
};

/// Nothing if it cannot be read, or is just being changed. To be asked in one's turn.
[[nodiscard]] std::optional<WalIndex> read_wal_index(Connection& connection) noexcept;

/// Which page of the store frame `number` holds, counted from 1; 0 if that cannot be read.
[[nodiscard]] std::uint32_t page_in_frame(Connection& connection, std::uint32_t number) noexcept;

/// Clears the two copies of the header; whoever reads next builds the index anew. To be
/// done in one's turn.
void forget_wal_index(Connection& connection);

}  // namespace perdure::sqlite
