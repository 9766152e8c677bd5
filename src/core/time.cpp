// Time as text, by the proleptic Gregorian calendar, and the machine's clocks.
//
// std::chrono's calendar ends at year 32767 and a Timestamp does not, so the
// days are counted here, in 64 bits, by the usual trick: a year that begins in
// March has its leap day last, and 400 of them are always 146097 days.
//
// CLOCK_BOOTTIME and not CLOCK_MONOTONIC: the latter stops while the
// machine sleeps, and a lease must not outlive a night with the lid closed.

#include "perdure/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <time.h>

#include "core/api/text.hpp"
#include "require.hpp"

namespace perdure {

namespace {

constexpr std::int64_t ms_per_day = 86'400'000;
constexpr std::int64_t days_per_era = 146'097;
constexpr std::int64_t epoch_day = 719'468;  // 1970-01-01, counted from 0000-03-01.

struct Date {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

constexpr Date date_of(std::int64_t days_since_1970) {
  const std::int64_t days = days_since_1970 + epoch_day;
  const std::int64_t era = floor_div(days, days_per_era);
  const std::int64_t day_of_era = days - era * days_per_era;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {.year = era * 400 + year_of_era + (month <= 2 ? 1 : 0),
          .month = month,
          .day = day_of_year - (153 * month_from_march + 2) / 5 + 1};
}

constexpr std::int64_t days_of(const Date& date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = floor_div(year, 400);
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month_from_march = date.month > 2 ? date.month - 3 : date.month + 9;
  const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * days_per_era + day_of_era - epoch_day;
}

constexpr bool exists(const Date& date) {
  if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return false;
  const Date again = date_of(days_of(date));
  return again.month == date.month && again.day == date.day;
}

// Reads a text from the left. After the first thing that is not there, ok()
// stays false and what the other calls return means nothing.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  bool take(char expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char expected) { ok_ = take(expected) && ok_; }

  std::int64_t digits(std::size_t count_min, std::size_t count_max) {
    std::int64_t value = 0;
    std::size_t count = 0;
    for (; count < count_max && !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++count) {
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    ok_ = ok_ && count >= count_min;
    return value;
  }

  std::int64_t number_below(std::int64_t limit) {
    const std::int64_t value = digits(2, 2);
    ok_ = ok_ && value < limit;
    return value;
  }

  void refuse() { ok_ = false; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::int64_t read_year(Cursor& in) {
  if (in.take('+')) return in.digits(6, 9);
  if (!in.take('-')) return in.digits(4, 4);
  const std::int64_t year = -in.digits(6, 9);
  if (year == 0) in.refuse();
  return year;
}

Date read_date(Cursor& in) {
  Date date{};
  date.year = read_year(in);
  in.expect('-');
  date.month = in.digits(2, 2);
  in.expect('-');
  date.day = in.digits(2, 2);
  if (in.ok() && !exists(date)) in.refuse();
  return date;
}

std::int64_t read_fraction_ms(Cursor& in) {
  if (!in.take('.')) return 0;
  std::int64_t ms = 0;
  for (int i = 0; i < 3; ++i) ms = ms * 10 + in.digits(i == 0 ? 1 : 0, 1);
  in.digits(0, 6);
  return ms;
}

std::int64_t read_time_of_day_ms(Cursor& in) {
  const std::int64_t hour = in.number_below(24);
  in.expect(':');
  const std::int64_t minute = in.number_below(60);
  in.expect(':');
  const std::int64_t second = in.number_below(60);
  return ((hour * 60 + minute) * 60 + second) * 1000 + read_fraction_ms(in);
}

std::int64_t read_offset_ms(Cursor& in) {
  if (in.take('Z')) return 0;
  const bool is_behind = in.take('-');
  if (!is_behind) in.expect('+');
  const std::int64_t hour = in.number_below(24);
  in.expect(':');
  const std::int64_t minute = in.number_below(60);
  return (is_behind ? -1 : 1) * (hour * 60 + minute) * 60'000;
}

}  // namespace

std::string to_iso8601(Timestamp time) {
  const std::int64_t ms = time.time_since_epoch().count();
  const std::int64_t days = floor_div(ms, ms_per_day);
  // The product alone may not fit where the difference does: the earliest day is not whole.
  const std::int64_t of_day = ms % ms_per_day + (ms % ms_per_day < 0 ? ms_per_day : 0);
  const Date date = date_of(days);
  const std::string year = date.year >= 0 && date.year <= 9999 ? fmt::format("{:04}", date.year)
                                                               : fmt::format("{:+07}", date.year);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", year, date.month, date.day,
                     of_day / 3'600'000, of_day / 60'000 % 60, of_day / 1000 % 60, of_day % 1000);
}

std::optional<Timestamp> timestamp_from_iso8601(std::string_view text) {
  Cursor in(text);
  const Date date = read_date(in);
  in.expect('T');
  std::int64_t of_day = read_time_of_day_ms(in);
  of_day -= read_offset_ms(in);
  if (!in.ok() || !in.at_end()) return std::nullopt;

  std::int64_t days = days_of(date);
  // Both terms then point towards 1970 or away from it only slightly, so that a sum that fits never
  // overflows on the way.
  if (days < 0) {
    days += 1;
    of_day -= ms_per_day;
  }
  std::int64_t ms = 0;
  if (__builtin_mul_overflow(days, ms_per_day, &ms)) return std::nullopt;
  if (__builtin_add_overflow(ms, of_day, &ms)) return std::nullopt;
  return Timestamp(Duration(ms));
}

namespace {

Duration read(clockid_t clock) {
  timespec time{};
  require(clock_gettime(clock, &time) == 0, "the kernel has no clock that Perdure needs");
  // Floors, also before 1970: tv_nsec is never negative.
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec)) +
         Duration(time.tv_nsec / 1'000'000);
}

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return Timestamp(read(CLOCK_REALTIME)); }
  [[nodiscard]] Uptime uptime() const override { return read(CLOCK_BOOTTIME); }
};

}  // namespace

Clock::~Clock() = default;

Clock& system_clock() {
  // Never deleted: threads and destructors use it while the process exits.
  static SystemClock& clock = *std::make_unique<SystemClock>().release();
  return clock;
}

}  // namespace perdure
