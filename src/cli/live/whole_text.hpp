// Text that streams in pieces, which may be cut within a character: handed on in whole ones, because
// half a character cannot be shown, nor be judged harmless.

#pragma once

#include <string>
#include <string_view>

namespace perdure::cli {

class WholeText {
 public:
  /// All that is whole by now.
  [[nodiscard]] std::string take(std::string_view piece);
  /// What was held back, as it is; nothing more follows.
  [[nodiscard]] std::string rest();

 private:
  std::string held_;
};

}  // namespace perdure::cli
