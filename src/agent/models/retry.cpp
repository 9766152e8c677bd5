// As the vendors' own clients do it: doubling waits, less a quarter by chance, so that clients that
// failed together do not come back together.

#include "models/retry.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <curl/curl.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
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

}  // namespace perdure
