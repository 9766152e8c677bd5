// UUIDs of version 7 (RFC 9562).
//
// The order comes from one 64-bit word: 48 bits of milliseconds, then a 16-bit
// counter. Each id takes max(the word now, the last word + 1), so a clock that
// stands still or steps back does no harm, and a counter that runs over borrows
// the next millisecond. The counter starts each millisecond at a random place in
// its lower half, which leaves 32768 ids before that happens.
//
// Uniqueness comes from 58 more bits that the kernel gives for every id. Nothing
// is drawn in advance and there is no lock, so a fork() at any moment leaves no
// state that both sides could spend, and no lock that the child could never take.

#include "random_ids.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/random.h>
#include <unistd.h>

#include "never_destroyed.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "require.hpp"

namespace perdure {

namespace {

constexpr std::int64_t ms_max = (std::int64_t{1} << 48) - 1;
constexpr std::uint64_t seed_mask = 0x7FFF;
constexpr std::uint64_t random_mask = (std::uint64_t{1} << 58) - 1;

std::array<std::uint64_t, 2> random_words() {
  std::array<std::uint64_t, 2> words{};
  ssize_t filled = -1;
  do {
    filled = getrandom(words.data(), sizeof(words), 0);
  } while (filled < 0 && errno == EINTR);
  // Up to 256 bytes come whole or not at all.
  require(filled == static_cast<ssize_t>(sizeof(words)), "the kernel gives no random bytes");
  return words;
}

void put_big_endian(std::uint64_t word, std::uint8_t* out) {
  for (unsigned i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(word >> (56 - 8 * i));
}

RawId uuid_of(std::uint64_t order, std::uint64_t random) {
  constexpr std::uint64_t version_7 = std::uint64_t{7} << 12;
  constexpr std::uint64_t variant = std::uint64_t{2} << 62;
  const std::uint64_t ms = order >> 16;
  const std::uint64_t counter = order & 0xFFFF;
  RawId raw{};
  put_big_endian((ms << 16) | version_7 | (counter >> 4), raw.data());
  put_big_endian(variant | ((counter & 0xF) << 58) | (random & random_mask), raw.data() + 8);
  return raw;
}

}  // namespace

RawId RandomIds::next() {
  const auto [seed, random] = random_words();
  const std::int64_t wall_ms = clock_.now().time_since_epoch().count();
  const auto ms = static_cast<std::uint64_t>(std::clamp(wall_ms, std::int64_t{0}, ms_max));
  const std::uint64_t fresh = (ms << 16) | (seed & seed_mask);

  std::uint64_t last = last_.load(std::memory_order_relaxed);
  std::uint64_t order = 0;
  do {
    order = (last >> 16) < ms ? fresh : last + 1;
  } while (!last_.compare_exchange_weak(last, order, std::memory_order_relaxed));
  return uuid_of(order, random);
}

IdSource& random_ids() {
  static NeverDestroyed<RandomIds> ids(system_clock());
  return ids.value();
}

}  // namespace perdure
