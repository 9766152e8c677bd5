// The tail is cut only once it is twice as long as it may be: each byte is moved once or twice.

#include "tools/process/output.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/runtime/calls.hpp"
#include "text/text_cut.hpp"

namespace perdure {

void CappedText::add(std::string_view bytes) {
  const std::size_t into_head = std::min(bytes.size(), head_max_ - head_.size());
  head_ += bytes.substr(0, into_head);
  tail_ += bytes.substr(into_head);
  if (tail_.size() <= 2 * tail_max_) return;
  const std::size_t extra = tail_.size() - tail_max_;
  left_out_ += extra;
  tail_.erase(0, extra);
}

std::string CappedText::text() const {
  const std::size_t extra = tail_.size() - std::min(tail_.size(), tail_max_);
  if (left_out_ + extra == 0) return head_ + tail_;
  const std::string_view head = whole_characters(head_);
  // A sequence that began before the cut ends in the tail's first bytes.
  std::size_t from = extra;
  while (from < tail_.size() && from < extra + 3 &&
         (static_cast<unsigned char>(tail_[from]) & 0xC0U) == 0x80U) {
    ++from;
  }
  const std::size_t missing = left_out_ + from + (head_.size() - head.size());
  return fmt::format("{}{}{}{}{}", head, cut_begin, missing, cut_end,
                     std::string_view(tail_).substr(from));
}

// The rest of a line that is too long is passed over, and never begins a line of its own: a secret
// that the cut goes through has its beginning where scrubbing looks for one.

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty() && progress_.is_watched() && told_ < progress_lines_max) {
    const std::size_t size = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_ += bytes.substr(0, std::min(size, progress_line_bytes_max - line_.size()));
    if (size == bytes.size()) return;
    end();
    bytes.remove_prefix(size + 1);
  }
}

void LineSplitter::end() {
  if (const auto whole = whole_characters(line_); !whole.empty()) {
    progress_(whole);
    ++told_;
  }
  line_.clear();
}

}  // namespace perdure
