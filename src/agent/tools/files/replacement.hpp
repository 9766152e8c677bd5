// A file that is replaced in one step, and whether it was.
//
// The new content is written beside it, under a name made of the call's key, synced, and renamed;
// then the folder is synced. The key rides on the new file as an attribute, so the rename is what
// makes both true.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "tools/files/roots.hpp"

namespace perdure::files {

/// Fails: `invalid_argument` if a folder, a link or what is no file is there; `unavailable`. About
/// "unsure": the new content is there, and may not survive a power cut. Otherwise the old content
/// is.
[[nodiscard]] Result<void> replace_file(const Leaf& leaf, std::string_view bytes,
                                        const std::string& key);

/// Under which the new content is written first; the same for all attempts of a call.
[[nodiscard]] std::string temporary_name(const std::string& key);

/// What is there after an attempt that nobody saw the end of.
struct Trace {
  std::optional<std::string> content{};  ///< Empty: there is no file.
  bool has_key = false;                  ///< It was put there under this key.
  bool is_under_way = false;             ///< The new content is beside it, under its own name.
  bool is_changed = false;               ///< File or folder may have changed at or after `since`.
};

/// Fails: `unavailable`.
[[nodiscard]] Result<Trace> trace_of(const Leaf& leaf, const std::string& key, Timestamp since,
                                     std::size_t bytes_max);

}  // namespace perdure::files
