// What an entry or an inbox message carries: bytes, and how to read them.
//
// A body is kept byte for byte. Text that is JSON is labelled `json`, so that a
// person with a database shell can read it; anything else is labelled `bytes`
// and kept just the same: it may have been paid for. A body too large to travel
// with its entry is a reference to a blob (blobs.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure {

enum class Codec : std::uint8_t { json, bytes, blob };

/// Names a blob by its content.
struct BlobRef {
  Digest digest{};
  std::uint64_t size = 0;

  bool operator==(const BlobRef&) const = default;
};

class Body {
 public:
  /// An empty body, codec `bytes`.
  Body() = default;

  /// Codec `json` where `text` is JSON as core reads it, else `bytes`.
  [[nodiscard]] static Body from_text(std::string text);
  [[nodiscard]] static Body from_json(const Json& value);
  [[nodiscard]] static Body from_bytes(std::string bytes);
  [[nodiscard]] static Body from_blob(const BlobRef& ref);
  /// For backends: what `codec()` and `bytes()` of a body said when it was written.
  [[nodiscard]] static Body from_stored(Codec codec, std::string bytes);

  [[nodiscard]] Codec codec() const { return codec_; }
  /// Exactly what was handed in; for a blob, the text of its reference.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// The blob this body refers to; empty unless the codec is `blob`.
  [[nodiscard]] std::optional<BlobRef> blob() const;

  bool operator==(const Body&) const = default;

 private:
  Body(Codec codec, std::string bytes);

  Codec codec_ = Codec::bytes;
  std::string bytes_;
};

}  // namespace perdure
