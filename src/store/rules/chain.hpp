// The hash chain over a session's commits.
//
// chain(0) = H("perdure session" ‖ session id); chain(n) = H(chain(n-1) ‖ seal of
// commit n ‖ the position it continues from ‖ its first position). A seal covers the
// batch id, the time, and of each entry everything but its body, which is covered
// by the body's hash: erasing a body leaves the chain checkable. All fields are
// length-prefixed or of fixed size, and all of them are stored.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/sha256.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::rules {

/// A batch made ready before it queues for the writer: everything that can be
/// computed without the store, so that only storing is left.
struct Sealed {
  Timestamp at{};              ///< The commit's own time.
  std::vector<Digest> hashes;  ///< Of each entry's body.
  Digest seal{};
};

[[nodiscard]] Sealed seal(const Batch& batch, Timestamp at);

/// For a store whose own clock gives the time when the commit is there: what the seal is the hash of, in
/// hex, with a `t` for each time that is the commit's: 8 bytes, the most significant first.
[[nodiscard]] std::string unsealed(const Batch& batch, std::span<const Digest> bodies);

/// The seal of a commit out of what is stored of it, entry by entry: bodies are taken
/// by their hashes, so that they may be gone.
class StoredSeal {
 public:
  StoredSeal(const BatchId& batch, Timestamp at, std::uint64_t entries);
  void add(const Entry& entry);
  [[nodiscard]] Digest finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
};

[[nodiscard]] Digest chain_start(const SessionId& session);
/// `from` is the head before the commit, or the point it branches from.
[[nodiscard]] Digest chain_next(const Digest& previous, const Digest& seal, Position from,
                                Position first);

}  // namespace perdure::rules
