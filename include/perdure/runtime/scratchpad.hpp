// Notes an agent keeps beside the conversation, by key.
//
// The log has one entry for each change: `set` with `{"key", "text"}` or `{"key", "blob",
// "size"}` (the digest), `delete` with `{"key"}`; `"by"` says who, if it was not the agent. The
// store keeps a blob for the entry whose body is its reference, and does not look into JSON:
// whoever sets a key to a blob writes a second entry beside it, kind `blob`, whose body is
// `Body::from_blob`.
//
// The mirror. A session whose metadata has a member `scratchpad_root` also has a folder,
// `<root>/<session id>/<key>.txt`, for people and programs (an id with other characters than
// a key's gives `%` and its SHA-256). The log is the truth; the folder follows it after each
// commit, and what others change in it comes in at the next request and at resume, as entries
// by "outside", in the commit of the user's message.
//
// What is a change from outside: the folder's `.mirror.json` says, for each key, which contents
// the mirror itself may have left there. It is written before the files, with the old and the new
// content, and after them, with the new one alone. So wherever a process dies:
//   - a file that is what the log says is in order;
//   - a file that the mirror may have left is an old mirror, and is written anew;
//   - any other file is a change from outside, and wins over what the log got meanwhile: that
//     stays readable in the log. The mirror never writes over a change it has not taken in;
//   - a file that is gone was removed from outside, unless the log has another value since: then
//     it comes back.
// Without a readable `.mirror.json`, what the log ever held for the key is an old mirror, and a
// file that is not there was never written. One thing cannot be told: a process died between its
// two notes, and somebody put the very content back that it had replaced. It is taken for the old
// mirror.
//
// One process at a time has a folder (it holds a lock on it). A folder that another session, or
// another store, has mirrored into is left alone, until somebody removes its `.mirror.json`.

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
  std::string by{};                     ///< "outside"; empty: the session itself.
  Unknown unknown{};
  bool operator==(const ScratchEntry&) const = default;
};

struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

/// Something in the folder that the mirror leaves as it is, or could not do.
struct ScratchProblem {
  enum class Why : std::uint8_t {
    not_a_key,   ///< A name that no key has.
    not_a_file,  ///< A link, a folder, a device: never followed.
    unreadable,
    too_large,  ///< Beyond scratch_value_bytes_max.
    not_text,   ///< No UTF-8.
    foreign,    ///< The folder is the mirror of another session or store.
    in_use,     ///< Another process has the folder.
    failed,     ///< The folder could not be read or written; tried again at the next occasion.
  };
  Why why = Why::failed;
  std::string name{};  ///< Of the file; empty: the folder.
  std::string message{};
  bool operator==(const ScratchProblem&) const = default;
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
