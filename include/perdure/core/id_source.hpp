// Where fresh ids come from.
//
// An IdSource is a constructor argument of everything that mints, so that a
// test can own identity as it owns time.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "perdure/core/id.hpp"

namespace perdure {

/// 128 bits, most significant byte first.
using RawId = std::array<std::uint8_t, 16>;

/// Thread safety: any thread, any time. Where next() throws, a random id is used (guarded.hpp).
class IdSource {
 public:
  virtual ~IdSource();

  /// A value never given before, here or by any other source of the same kind. Within one process
  /// each later value sorts after every earlier one.
  [[nodiscard]] virtual RawId next() = 0;
};

/// UUIDs of version 7: milliseconds of wall time, a counter that keeps the order when the clock
/// stands still or steps back, and fresh bits from the kernel in every id, so that processes that
/// never met (or were one before a fork()) do not collide. Lives for ever.
[[nodiscard]] IdSource& random_ids();

/// 26 characters of lower-case Crockford base32. Texts sort as the bytes do.
[[nodiscard]] std::string to_base32(const RawId& raw);

/// `mint<SessionTag>(ids)` is "ses_01k…": the tag's prefix and the text of a fresh RawId.
template <class Tag>
[[nodiscard]] Id<Tag> mint(IdSource& source) {
  return Id<Tag>(std::string(Tag::prefix) + to_base32(source.next()));
}

}  // namespace perdure
