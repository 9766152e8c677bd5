// Notes an agent keeps beside the conversation, by key.
//
// The log has one entry for each change: `set` with `{"key", "text"}` or `{"key", "blob",
// "size"}` (the digest), `delete` with `{"key"}`; `"by"` says who, if it was not the agent. The
// store keeps a blob for the entry whose body is its reference, and does not look into JSON:
// whoever sets a key to a blob writes a second entry beside it, kind `blob`, whose body is
// `Body::from_blob`.
//
// The folder. Notes may also be files, `<root>/<session id>/<key>.txt` (an id with other characters
// than a key's gives `%` and its SHA-256): an agent's file names the root, `scratchpad: {folder:
// PATH}`. They are written at the end of a turn, each replaced by a rename, and read at a resume;
// the log is the truth, and a file is compared with it by its digest:
//   - a content that the log recorded for the key, on whichever line of the session, is an old
//     file, and is replaced;
//   - any other one was edited by hand, and wins: it becomes an entry by "outside", and what it
//     replaces stays in the log;
//   - a file that is not there says nothing, and is written again. To empty a note, empty its file.
// So wherever a process dies, between a commit and a rename or between two renames, nothing is taken
// for an edit that was none. After a store was restored from a backup, files that are newer count as
// edited by hand. What cannot be read as a note (a link, too many bytes, no UTF-8) is named and left
// alone. A session of the same id in another store has the same folder: give it another root.

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
#include "perdure/store/log.hpp"

namespace perdure {

/// A key is a file's name too.
inline constexpr std::size_t scratch_key_bytes_max = 128;
inline constexpr std::size_t scratch_value_bytes_max = std::size_t{16} << 20U;
/// Longer values are blobs.
inline constexpr std::size_t scratch_inline_bytes_max = std::size_t{16} << 10U;

/// Letters and digits of ASCII, `_` and `-`; at least one.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check_scratch_key(std::string_view key);

using ScratchValue = std::variant<std::string, BlobRef>;

struct ScratchEntry {
  std::string key{};
  std::optional<ScratchValue> value{};  ///< Empty: the key is deleted.
  std::string by{};                     ///< "outside": edited by hand; empty: the session itself.
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
