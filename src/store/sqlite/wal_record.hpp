// What of the WAL was acknowledged: which frames must still be there when the store is
// opened again. Kept in the lock file (lock_file.hpp), written anew with every commit.
//
// It lives in the kernel's cache and is never synced. It survives the death of processes;
// after that of the machine the disk has this state of it or an older one, or none.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perdure::sqlite {

inline constexpr std::uint64_t absent_page = 0;

/// A page of the main file, and what it held while frames were not yet written back to it.
struct PageMark {
  std::uint64_t page = 0;  ///< 0: none.
  std::uint64_t sum = 0;   ///< `absent_page`: the file ended before it.

  bool operator==(const PageMark&) const = default;
};

/// As it lies in the file.
struct WalRecord {
  std::array<std::uint32_t, 2> salts{};  ///< Of the WAL that holds the frames.
  std::uint32_t frames = 0;              ///< Acknowledged; 0: nothing is claimed.
  std::uint32_t synced = 0;              ///< So many of them were also synced.
  std::uint64_t boot = 0;                ///< The machine's boot in which it was written.
  /// Both hold something else once all frames are written back, by whomever. The first is on the
  /// last frame or near it, which no half of a checkpoint reaches; the second is the page that a
  /// checkpoint writes last.
  std::array<PageMark, 2> before{};
  std::uint64_t sum = 0;  ///< Over all of the above; another one: no record.

  bool operator==(const WalRecord&) const = default;

  /// Sets the sum.
  void seal();
  [[nodiscard]] bool is_sealed() const;
};

/// The boot this process runs in; 0 if the machine does not say.
[[nodiscard]] std::uint64_t current_boot();

/// 64 bits of the bytes, for telling accidents, not attackers.
[[nodiscard]] std::uint64_t sum_of(const char* bytes, std::size_t count);

}  // namespace perdure::sqlite
