// Messages name the base URL as it was given: it holds no secret, or is refused for holding one.

#include "models/http.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <curl/curl.h>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

// What stands between the scheme and the path.
std::string_view authority_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_four_numbers(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool is_loopback(std::string_view url) {
  const std::string_view host = host_of(authority_of(url));
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && is_four_numbers(host));
}

Result<std::string> request_url(std::string_view base, std::string_view path, bool has_key) {
  const bool is_plain = base.starts_with("http://");
  const std::string_view authority = authority_of(base);
  if (!is_plain && !base.starts_with("https://")) {
    return fail(ErrorCode::invalid_argument, "the base URL begins with neither https nor http");
  }
  if (authority.find('@') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the base URL holds a name or a password; use a key");
  }
  if (host_of(authority).empty() || base.find_first_of(" \t\r\n") != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the base URL has no host: " + std::string(base));
  }
  if (is_plain && has_key && !is_loopback(base)) {
    return fail(ErrorCode::invalid_argument,
                "a key is not sent unencrypted to another machine: " + std::string(base));
  }
  while (base.ends_with('/')) base.remove_suffix(1);
  return std::string(base) + std::string(path);
}

// As the vendors' own clients do it: doubling waits, less a quarter by chance, so that clients that
// failed together do not come back together.

namespace {

// Longer than anybody waits, and far from overflow.
constexpr double wait_ms_max = 1e12;

std::optional<Duration> milliseconds_in(std::string_view text, double unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(number >= 0)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(std::min(number * unit, wait_ms_max))};
}

std::optional<Duration> until_date(std::string_view text, Timestamp now) {
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const Timestamp when{std::chrono::seconds(date)};
  return std::max(Duration{0}, when - now);
}

}  // namespace

bool is_worth_repeating(const HttpHead& head) {
  if (const auto said = head.find("x-should-retry")) {
    if (*said == "true") return true;
    if (*said == "false") return false;
  }
  return head.status == 408 || head.status == 409 || head.status == 429 || head.status >= 500;
}

std::optional<Duration> wanted_wait(const HttpHead& head, Timestamp now) {
  if (const auto said = head.find("retry-after-ms")) {
    if (const auto wait = milliseconds_in(*said, 1)) return wait;
  }
  const auto said = head.find("retry-after");
  if (!said) return std::nullopt;
  if (const auto wait = milliseconds_in(*said, 1000)) return wait;
  return until_date(*said, now);
}

double chance_from(IdSource& ids) {
  const RawId raw = ids.next();
  // The last bytes of an id are those that nobody can foresee.
  std::uint32_t bits = 0;
  for (std::size_t i = raw.size() - 4; i < raw.size(); ++i) bits = bits << 8U | raw.at(i);
  return static_cast<double>(bits) / 4294967296.0;
}

std::optional<Duration> wait_before_next(const RetryOptions& options, const FailedAttempt& failed,
                                         double chance) {
  constexpr int doublings_max = 30;
  const double grown =
      static_cast<double>(options.first_wait.count()) *
      static_cast<double>(1U << static_cast<unsigned>(std::min(failed.number - 1, doublings_max)));
  const double longest = std::min(grown, static_cast<double>(options.wait_max.count()));
  const Duration own{static_cast<std::int64_t>(longest * (1 - chance / 4))};
  // "At once", or a time that is over: it would be asked as fast as it can say no.
  const Duration wait = std::max(failed.wanted.value_or(own), std::min(own, options.first_wait));
  if (failed.since_first + wait > options.total) return std::nullopt;
  return wait;
}

// A line that lies whole in one piece is looked at where it is; only one that a piece boundary cuts
// is copied together.

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
