// Counters: counting, and their JSON.

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/session_records.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

TEST(Counters, CountByName) {
  Counters counters;
  EXPECT_EQ(counters.at("nudges"), 0);
  EXPECT_EQ(add(counters, "nudges", 2), 2);
  EXPECT_EQ(add(counters, "nudges", -3), -1);
  EXPECT_EQ(counters.at("nudges"), -1);
  EXPECT_EQ(to_json(counters), R"({"counters":{"nudges":-1}})");
}

TEST(Counters, RefuseToOverflow) {
  for (const std::int64_t end :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    Counters counters;
    ASSERT_TRUE(add(counters, "n", end));
    const auto more = add(counters, "n", end > 0 ? 1 : -1);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(counters.at("n"), end);
  }
}

TEST(Counters, RefuseOddNames) {
  Counters counters;
  EXPECT_EQ(add(counters, "", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(add(counters, "a\nb", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(counters.values.empty());
}

TEST(Counters, MayBeCalledAnything) {
  // Also what stands for a version elsewhere.
  const auto counters = counters_from_json(R"({"counters":{"v":7,"counters":1}})");
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->at("v"), 7);
}

TEST(Counters, RefuseWhatIsNone) {
  for (const std::string_view text :
       {"", "{}", R"({"counters":[]})", R"({"counters":{"a":1.5}})", R"({"counters":{"a":"1"}})",
        R"({"counters":{"a":9223372036854775808}})"}) {
    const auto counters = counters_from_json(text);
    ASSERT_FALSE(counters) << text;
    EXPECT_EQ(counters.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(CountersProperty, ComeBack, (std::int64_t a, std::int64_t b)) {
  const Counters counters{.values = {{"a", a}, {"b \xC3\xA4", b}},
                          .unknown = *values::any_unknown()};
  values::check_codec(counters, counters_from_json);
}

}  // namespace
}  // namespace perdure
