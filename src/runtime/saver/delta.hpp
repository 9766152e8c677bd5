// What changed from one text to the next: parts of the old one that stay, and new text
// between them.
//
// Its JSON is `{"size": 40, "parts": [[0, 12], "new text", [20, 20]]}`: a pair is a range
// of the text before (offset, bytes), a string is new; `size` is the whole's. Texts are
// UTF-8, and are cut between characters only.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure::saver {

struct Range {
  std::size_t from = 0;
  std::size_t size = 0;

  bool operator==(const Range&) const = default;
};

using Part = std::variant<Range, std::string>;

struct Delta {
  std::size_t size = 0;  ///< Of the text it makes.
  std::vector<Part> parts{};

  bool operator==(const Delta&) const = default;
};

[[nodiscard]] Delta diff(std::string_view base, std::string_view next);

[[nodiscard]] std::string to_json(const Delta& delta);
/// Fails: `unsupported` for a newer version; `corrupted` for anything else that is none.
[[nodiscard]] Result<Delta> delta_from_json(std::string_view text);

/// The text that the deltas make of `base`, one after the other. Every byte of it is copied
/// once, however many deltas there are.
/// Fails: `corrupted` if a delta does not fit what was before it.
[[nodiscard]] Result<std::string> fold(std::string_view base, const std::vector<Delta>& deltas);

}  // namespace perdure::saver
