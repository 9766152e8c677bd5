// The rest of a line that is too long is passed over, and never begins a line of its own: a secret
// that the cut goes through has its beginning where scrubbing looks for one.

#include "tools/process/line_teller.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "perdure/runtime/tool_progress.hpp"
#include "tools/text_cut.hpp"

namespace perdure {

void LineTeller::add(std::string_view bytes) {
  while (!bytes.empty() && progress_.is_watched() && told_ < progress_lines_max) {
    const std::size_t size = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_ += bytes.substr(0, std::min(size, progress_line_bytes_max - line_.size()));
    if (size == bytes.size()) return;
    end();
    bytes.remove_prefix(size + 1);
  }
}

void LineTeller::end() {
  if (const auto whole = whole_characters(line_); !whole.empty()) {
    progress_(whole);
    ++told_;
  }
  line_.clear();
}

}  // namespace perdure
