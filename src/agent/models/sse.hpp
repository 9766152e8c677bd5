// Server-sent events, taken out of a stream of bytes that arrives in any pieces.
//
// As the HTML standard has it: lines end with LF, CR or CRLF; a blank line ends an event; an event
// that the end of the stream cuts off is none. Ids and retry times have no meaning for a response
// to one POST, and are passed over.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure {

/// Both live until the function that is given them returns.
struct SseEvent {
  std::string_view name;  ///< Empty: none was said.
  std::string_view data;  ///< Several data lines are joined with LF.
};

/// What it fails with ends the feeding.
using SseSink = std::function<Result<void>(const SseEvent&)>;

class SseParser {
 public:
  static constexpr std::size_t event_bytes_default = 10'000'000;

  /// `event_bytes_max`: no line, and no event's data, may be longer.
  explicit SseParser(std::size_t event_bytes_max = event_bytes_default)
      : event_bytes_max_(event_bytes_max) {}

  /// Gives every event that ends within `bytes` to `sink`. After a failure the parser is of no
  /// further use. Fails: `unavailable` for an event beyond the limit; whatever `sink` fails with.
  [[nodiscard]] Result<void> feed(std::string_view bytes, const SseSink& sink);

 private:
  [[nodiscard]] Result<void> take_line(std::string_view line, const SseSink& sink);
  void take_field(std::string_view line);
  [[nodiscard]] Result<void> end_event(const SseSink& sink);

  std::size_t event_bytes_max_;
  std::string line_;  // The part of a line that earlier pieces brought.
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // A LF that comes now belongs to the CR before it.
  bool is_first_line_ = true;
};

}  // namespace perdure
