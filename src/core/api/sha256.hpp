// A running SHA-256, for keys, body hashes and the chain over commits.
//
// A hash over several fields must not be able to confuse ("ab","c") with
// ("a","bc"): feed such fields with update_sized(), numbers with
// update_number(), and plain update() only where one field is all there is.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/api/sha256.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure {

/// One running hash. Reuse an object for many digests: making one costs more than finish() does.
/// Thread safety: none; one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  /// Only the concatenation of all bytes fed counts, not how they were split.
  void update(std::string_view bytes);

  /// The length as by update_number(), then the bytes.
  void update_sized(std::string_view bytes);

  /// Eight bytes, most significant first.
  void update_number(std::uint64_t number);

  /// The digest of all bytes fed since the start or the last finish(). Resets the hash.
  [[nodiscard]] Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace perdure
