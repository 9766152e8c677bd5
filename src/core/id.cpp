// The rule every name keeps, the text of an id, and random ids.
//
// Control characters are refused because names are printed in terminals, logs
// and web pages; a space at an end because a reader cannot see it.
//
// Crockford's alphabet leaves out i, l, o and u, and its characters ascend in
// ASCII; with the bits taken from the top, texts therefore sort as the bytes.
//
// Random ids are UUIDs of version 7 (RFC 9562).
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

#include "perdure/core/id.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/random.h>
#include <unistd.h>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "random_ids.hpp"
#include "require.hpp"
#include "utf8.hpp"

namespace perdure {

namespace {

std::unexpected<Error> refuse(std::string_view what, std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("the {} {}", what, why));
}

bool is_control_at(const char* p, std::size_t bytes) {
  const auto lead = static_cast<std::uint8_t>(p[0]);
  if (bytes == 1) return lead < 0x20 || lead == 0x7F;
  return bytes == 2 && lead == 0xC2 && static_cast<std::uint8_t>(p[1]) < 0xA0;
}

}  // namespace

Result<void> check_name(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.empty()) return refuse(what, "is empty");
  if (text.size() > bytes_max) {
    return refuse(what,
                  fmt::format("has {} bytes, at most {} are allowed", text.size(), bytes_max));
  }
  if (text.front() == ' ' || text.back() == ' ') {
    return refuse(what, "begins or ends with a space");
  }
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    const std::size_t bytes = utf8_sequence_bytes(p, end);
    const auto at = p - text.data();
    if (bytes == 0) return refuse(what, fmt::format("is not valid UTF-8 at byte {}", at));
    if (is_control_at(p, bytes)) {
      return refuse(what, fmt::format("has a control character at byte {}", at));
    }
    p += bytes;
  }
  return {};
}

IdSource::~IdSource() = default;

std::string to_base32(const RawId& raw) {
  constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  constexpr std::size_t length = 26;

  std::string text;
  text.reserve(length);
  // 26 characters have room for 130 bits: two zero bits go before the first byte.
  unsigned pending = 0;
  unsigned pending_bits = 2;
  for (const std::uint8_t byte : raw) {
    pending = (pending << 8) | byte;
    pending_bits += 8;
    while (pending_bits >= 5) {
      pending_bits -= 5;
      text.push_back(alphabet[(pending >> pending_bits) & 31]);
    }
  }
  return text;
}

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
  // Never deleted: threads and destructors use it while the process exits.
  static RandomIds& ids = *std::make_unique<RandomIds>(system_clock()).release();
  return ids;
}

}  // namespace perdure
