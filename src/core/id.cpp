// The rule every name keeps.
//
// Control characters are refused because names are printed in terminals, logs
// and web pages; a space at an end because nobody can see it.

#include "perdure/core/id.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string_view>

#include "perdure/core/error.hpp"
#include "utf8.hpp"

namespace perdure {

namespace {

std::unexpected<Error> refuse(std::string_view what, std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("the {} {}", what, why));
}

bool is_control_at(const char* p, std::size_t bytes) {
  const auto lead = static_cast<std::uint8_t>(p[0]);
  if (bytes == 1) return lead < 0x20 || lead == 0x7F;
  return bytes == 2 && lead == 0xC2 && static_cast<std::uint8_t>(p[1]) < 0xA0;
}

}  // namespace

Result<void> check_name(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.empty()) return refuse(what, "is empty");
  if (text.size() > bytes_max) {
    return refuse(what,
                  fmt::format("has {} bytes, at most {} are allowed", text.size(), bytes_max));
  }
  if (text.front() == ' ' || text.back() == ' ') {
    return refuse(what, "begins or ends with a space");
  }
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    const std::size_t bytes = utf8_sequence_bytes(p, end);
    const auto at = p - text.data();
    if (bytes == 0) return refuse(what, fmt::format("is not valid UTF-8 at byte {}", at));
    if (is_control_at(p, bytes)) {
      return refuse(what, fmt::format("has a control character at byte {}", at));
    }
    p += bytes;
  }
  return {};
}

}  // namespace perdure
