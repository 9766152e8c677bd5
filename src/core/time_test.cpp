// Time: ISO 8601 both ways, and the clocks.

#include "perdure/core/time.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "core/api/text.hpp"
#include "doubles/fake_clock.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

Timestamp at(std::int64_t ms) { return Timestamp(Duration(ms)); }

struct Spelling {
  std::int64_t ms;
  std::string_view text;
};

constexpr Spelling spellings[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {951'782'400'000, "2000-02-29T00:00:00.000Z"},
    {1'794'759'235'123, "2026-11-15T16:13:55.123Z"},
    {-2'203'891'200'000, "1900-03-01T00:00:00.000Z"},
    {253'402'300'799'999, "9999-12-31T23:59:59.999Z"},
    {253'402'300'800'000, "+010000-01-01T00:00:00.000Z"},
    {-62'167'219'200'000, "0000-01-01T00:00:00.000Z"},
    {-62'167'219'200'001, "-000001-12-31T23:59:59.999Z"},
    {std::numeric_limits<std::int64_t>::max(), "+292278994-08-17T07:12:55.807Z"},
    {std::numeric_limits<std::int64_t>::min(), "-292275055-05-16T16:47:04.192Z"},
};

TEST(Iso8601, KnownTimesHaveTheirText) {
  for (const auto& [ms, text] : spellings) {
    EXPECT_EQ(to_iso8601(at(ms)), text);
    EXPECT_EQ(timestamp_from_iso8601(text), at(ms)) << text;
  }
}

RC_GTEST_PROP(Iso8601, EveryTimeReadsBackUnchanged, (std::int64_t ms)) {
  RC_ASSERT(timestamp_from_iso8601(to_iso8601(at(ms))) == at(ms));
}

RC_GTEST_PROP(Iso8601, OfFourDigitYearsTextsSortAsTimes, ()) {
  const auto any = rc::gen::inRange<std::int64_t>(-62'167'219'200'000, 253'402'300'800'000);
  const std::int64_t a = *any;
  const std::int64_t b = *any;
  RC_ASSERT((to_iso8601(at(a)) < to_iso8601(at(b))) == (a < b));
}

// std::chrono's own calendar is the oracle where it reaches.
RC_GTEST_PROP(Iso8601, DaysAgreeWithTheStandardCalendar, ()) {
  const auto day = *rc::gen::inRange(-1'000'000, 2'000'000);
  const std::chrono::sys_days days{std::chrono::days{day}};
  const std::chrono::year_month_day date{days};
  const std::string text = to_iso8601(Timestamp(days));
  const int year = int{date.year()};
  RC_PRE(year >= 0 && year <= 9999);
  RC_ASSERT(std::stoi(text.substr(0, 4)) == year);
  RC_ASSERT(static_cast<unsigned>(std::stoi(text.substr(5, 2))) == unsigned{date.month()});
  RC_ASSERT(static_cast<unsigned>(std::stoi(text.substr(8, 2))) == unsigned{date.day()});
}

TEST(Iso8601, OffsetsAndFractionsAreUnderstood) {
  const Timestamp noon = at(1'794'744'000'000);
  EXPECT_EQ(timestamp_from_iso8601("2026-11-15T12:00:00Z"), noon);
  EXPECT_EQ(timestamp_from_iso8601("2026-11-15T14:30:00+02:30"), noon);
  EXPECT_EQ(timestamp_from_iso8601("2026-11-14T22:00:00.0-14:00"), noon);
  EXPECT_EQ(timestamp_from_iso8601("2026-11-15T12:00:00.5Z"), noon + 500ms);
  EXPECT_EQ(timestamp_from_iso8601("2026-11-15T12:00:00.123999999Z"), noon + 123ms);
}

TEST(Iso8601, AnythingElseIsNoTime) {
  constexpr std::string_view texts[] = {"",
                                        "2026",
                                        "2026-11-15",
                                        "2026-11-15T12:00:00",
                                        "2026-11-15 12:00:00Z",
                                        "2026-11-15T12:00Z",
                                        "2026-11-15T12:00:00.Z",
                                        "2026-11-15T12:00:00.1234567890Z",
                                        "2026-11-15T12:00:00Z ",
                                        " 2026-11-15T12:00:00Z",
                                        "26-11-15T12:00:00Z",
                                        "2026-1-15T12:00:00Z",
                                        "2026-00-15T12:00:00Z",
                                        "2026-13-15T12:00:00Z",
                                        "2026-02-29T12:00:00Z",
                                        "1900-02-29T12:00:00Z",
                                        "2026-04-31T12:00:00Z",
                                        "2026-11-00T12:00:00Z",
                                        "2026-11-15T24:00:00Z",
                                        "2026-11-15T12:60:00Z",
                                        "2016-12-31T23:59:60Z",
                                        "2026-11-15T12:00:00+1:00",
                                        "2026-11-15T12:00:00+24:00",
                                        "2026-11-15T12:00:00+0100",
                                        "-000000-01-01T00:00:00Z",
                                        "+12026-01-01T00:00:00Z",
                                        "+292278994-08-17T07:12:55.808Z",
                                        "-292275055-05-16T16:47:04.191Z",
                                        "+999999999-01-01T00:00:00Z",
                                        "-999999999-01-01T00:00:00Z"};
  for (const std::string_view text : texts) {
    EXPECT_EQ(timestamp_from_iso8601(text), std::nullopt) << text;
  }
}

TEST(Clocks, TheSystemsWallIsTheStandardOneAndItsUptimeNeverStepsBack) {
  const Timestamp before{std::chrono::seconds(std::time(nullptr))};
  const Timestamp now = system_clock().now();
  EXPECT_GE(now, before);
  EXPECT_LT(now - before, 1min);

  const Uptime first = system_clock().uptime();
  EXPECT_GT(first, 0ms);
  EXPECT_GE(system_clock().uptime(), first);
}

TEST(Clocks, AFakeClockMovesBothTimesTogetherAndItsWallAlone) {
  FakeClock clock;
  const Timestamp wall = clock.now();
  const Uptime uptime = clock.uptime();

  clock.advance(5s);
  EXPECT_EQ(clock.now(), wall + 5s);
  EXPECT_EQ(clock.uptime(), uptime + 5s);

  clock.set_wall(wall - 1h);
  EXPECT_EQ(clock.now(), wall - 1h);
  EXPECT_EQ(clock.uptime(), uptime + 5s);
}

}  // namespace
}  // namespace perdure
