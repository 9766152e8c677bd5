// Bodies too large to travel with their entry, kept once by content.
//
// A blob is staged before the commit that names it. The same bytes are one blob,
// however often they are put.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

class Blobs {
 public:
  virtual ~Blobs() = default;

  /// Keeps the bytes and returns their name. Durable when it returns. From then on, also
  /// if they were put before, they are not collected for a while (retention.hpp).
  /// Fails: `invalid_argument` beyond `blob_bytes_max`.
  [[nodiscard]] virtual Result<BlobRef> put(std::string_view bytes) = 0;

  /// The whole blob. Fails: `not_found`; `corrupted` if the bytes do not match their name.
  [[nodiscard]] Result<std::string> get(const BlobRef& ref);

  /// At most `size` bytes from `offset`; reading at or past the end is not an
  /// error and gives fewer or none. Fails: `not_found`.
  [[nodiscard]] virtual Result<std::string> read(const BlobRef& ref, std::uint64_t offset,
                                                 std::uint64_t size) = 0;

  /// Whether it is there, whatever its bytes.
  [[nodiscard]] Result<bool> contains(const BlobRef& ref);
};

/// If the entry's body is a reference to a blob, puts the blob's text in its place. A blob that is
/// missing or damaged makes the entry `damaged`: it is passed over, and the session stays readable.
/// Entries that are not intact are left alone.
/// Fails: as Blobs::get, except `not_found` and `corrupted`.
[[nodiscard]] Result<void> load_blob(Blobs& blobs, Entry& entry);

}  // namespace perdure
