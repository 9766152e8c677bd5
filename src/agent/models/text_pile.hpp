// A text that grows at its end, and may be cut there. What was written is never moved, so that a
// piece costs itself, however long the text is.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {

class TextPile {
 public:
  void append(std::string_view piece);
  /// `bytes` is at most size().
  void cut(std::size_t bytes);
  [[nodiscard]] std::size_t size() const;

  /// Appends what stands between the two places, in order. Lives until the pile changes.
  void list(std::size_t begin, std::size_t end, std::vector<std::string_view>& to) const;

 private:
  std::vector<std::string> blocks_;  ///< All but the last are full.
};

}  // namespace perdure
