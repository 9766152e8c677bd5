// A line that lies whole in one piece is looked at where it is; only one that a piece boundary cuts
// is copied together.

#include "models/sse.hpp"

#include <cstddef>
#include <expected>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::unexpected<Error> event_too_large() {
  return fail(ErrorCode::unavailable, "an event of the response's stream is too large");
}

}  // namespace

Result<void> SseParser::feed(std::string_view bytes, const SseSink& sink) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > event_bytes_max_) return event_too_large();
    if (end == std::string_view::npos) {
      line_ += piece;
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!line_.empty()) line_ += piece;
    const auto taken = take_line(line_.empty() ? piece : std::string_view(line_), sink);
    line_.clear();
    if (!taken) return taken;
  }
  return {};
}

Result<void> SseParser::take_line(std::string_view line, const SseSink& sink) {
  if (std::exchange(is_first_line_, false) && line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (line.empty()) return end_event(sink);
  take_field(line);
  if (data_.size() > event_bytes_max_) return event_too_large();
  return {};
}

void SseParser::take_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") name_ = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

Result<void> SseParser::end_event(const SseSink& sink) {
  Result<void> taken;
  if (has_data_) taken = sink({.name = name_, .data = data_});
  name_.clear();
  data_.clear();
  has_data_ = false;
  return taken;
}

}  // namespace perdure
