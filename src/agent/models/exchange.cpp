// What moves restarts the clock: a large body may take its time, a silent server may not.

#include "models/exchange.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/time.hpp"

namespace perdure {
namespace {

// Once all came that matters, the end is waited for so long, because a connection that ended well
// can be used again.
constexpr Duration end_patience = std::chrono::seconds(1);

// Of all that come, those after the body too. Vendors send one or two thousand bytes.
constexpr std::size_t header_bytes_max = std::size_t{256} << 10U;

std::string_view without_spaces(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t Exchange::give(char* to, std::size_t room) {
  was_sent_ = true;
  move();
  std::size_t given = 0;
  while (given < room && part_ < request_.body.size()) {
    const std::string_view rest = request_.body[part_].substr(offset_);
    const std::size_t size = std::min(room - given, rest.size());
    std::memcpy(to + given, rest.data(), size);
    given += size;
    offset_ += size;
    if (offset_ == request_.body[part_].size()) {
      ++part_;
      offset_ = 0;
    }
  }
  return given;
}

std::size_t Exchange::body_bytes() const {
  std::size_t bytes = 0;
  for (const std::string_view part : request_.body) bytes += part.size();
  return bytes;
}

bool Exchange::take_header_line(std::string_view line) {
  move();
  header_bytes_ += line.size();
  if (header_bytes_ > header_bytes_max) {
    too_large_ = fmt::format("the response has more than {} bytes of headers", header_bytes_max);
    return false;
  }
  if (has_head_) return true;  // What follows a body is of no interest.
  const std::string_view text = without_spaces(line);
  if (line.starts_with("HTTP/")) {
    head_ = {};
    const std::string_view status = text.substr(std::min(text.find(' '), text.size()));
    if (!status.empty()) {
      std::from_chars(status.data() + 1, status.data() + status.size(), head_.status);
    }
  } else if (text.empty() && head_.status >= 200) {  // Others announce the answer: "Continue".
    has_head_ = true;
    reader_.on_head(std::move(head_));
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    std::string name(text.substr(0, colon));
    std::ranges::transform(name, name.begin(), to_lower);
    head_.headers.emplace_back(std::move(name), without_spaces(text.substr(colon + 1)));
  }
  return true;
}

bool Exchange::take_body(std::string_view bytes) {
  move();
  const std::size_t room = request_.response_bytes_max - received_;
  received_ += std::min(room, bytes.size());
  if (auto taken = reader_.on_bytes(bytes.substr(0, room)); !taken) {
    failure_ = std::move(taken).error();
    return false;
  }
  if (bytes.size() <= room) return true;
  too_large_ =
      fmt::format("the response is too large: it has more than {} bytes (model.response_bytes_max)",
                  request_.response_bytes_max);
  return false;
}

Duration Exchange::patience() const {
  if (has_all()) return std::min(end_patience, request_.timeouts.idle);
  return received_ == 0 ? request_.timeouts.first_byte : request_.timeouts.idle;
}

std::optional<Duration> Exchange::time_left() const {
  if (!was_sent_) return std::nullopt;
  return std::max(Duration{0}, moved_ + patience() - clock_.uptime());
}

std::string Exchange::what_ran_out() const {
  return "nothing came for " + std::to_string(patience().count()) + " ms";
}

}  // namespace perdure
