// Notes an agent keeps beside the conversation, by key.
//
// The log has one entry for each change: `set` with `{"key", "text"}` or `{"key", "blob",
// "size"}` (the digest), `delete` with `{"key"}`. The store keeps a blob for the entry whose
// body is its reference, and does not look into JSON: whoever sets a key to a blob writes
// a second entry beside it, kind `blob`, whose body is `Body::from_blob`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/body.hpp"

namespace perdure {

/// A key is a file's name too, in the folder that mirrors the scratchpad.
inline constexpr std::size_t scratch_key_bytes_max = 128;

/// Letters and digits of ASCII, `_` and `-`; at least one.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check_scratch_key(std::string_view key);

using ScratchValue = std::variant<std::string, BlobRef>;

struct ScratchEntry {
  std::string key{};
  std::optional<ScratchValue> value{};  ///< Empty: the key is deleted.
  Unknown unknown{};
  bool operator==(const ScratchEntry&) const = default;
};

struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

/// To delete a key that is not there is not an error.
/// Fails: `invalid_argument` for a bad key; the scratchpad is unchanged.
[[nodiscard]] Result<void> apply(Scratchpad& scratchpad, ScratchEntry entry);

/// "set" or "delete".
[[nodiscard]] std::string_view kind_of(const ScratchEntry& entry);

/// The kind is that of the log's entry, and not in the JSON.
[[nodiscard]] std::string to_json(const ScratchEntry& entry);

/// Fails: `invalid_argument` for another kind, or text that is no such entry; `unsupported`
/// for a newer version.
[[nodiscard]] Result<ScratchEntry> scratch_entry_from_json(std::string_view kind,
                                                           std::string_view text);

}  // namespace perdure
