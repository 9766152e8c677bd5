// Ids and names: what is one, what is none, and how they compare.

#include "perdure/core/id.hpp"

#include <gtest/gtest.h>
#include <string>
#include <type_traits>

#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using namespace std::string_literals;

TEST(Ids, AnyProperTextIsAnId) {
  for (const std::string& text : {"a"s, "ses_01k"s, "order 17/b"s, "прогон-1"s, "\U0001F600"s,
                                  "\u00a0"s, std::string(128, 'x')}) {
    const auto id = SessionId::parse(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(id->text(), text);
    EXPECT_FALSE(id->empty());
  }
}

TEST(Ids, ImproperTextIsRefused) {
  const std::string improper[] = {"",
                                  " a",
                                  "a ",
                                  std::string(129, 'x'),
                                  "a\nb",
                                  "a\0b"s,
                                  "a\x7f",
                                  "a\xc2\x80",
                                  "a\xc2\x9f",
                                  "a\xff",
                                  "a\xc3",
                                  "\xc0\xaf",
                                  "\xe0\x80",
                                  "\xe0\x9f\xbf",
                                  "\xed\xa0\x80",
                                  "\xf0\x8f\xbf\xbf",
                                  "\xf4\x90\x80\x80"};
  for (const std::string& text : improper) {
    const auto id = SessionId::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(id.error().message.find("session id"), std::string::npos) << id.error().message;
  }
}

TEST(Ids, ANoIdEqualsOnlyAnother) {
  EXPECT_TRUE(WorkerId().empty());
  EXPECT_EQ(WorkerId(), WorkerId());
  EXPECT_NE(WorkerId(), WorkerId::parse("w").value());
}

TEST(Ids, TheyCompareByTheirBytes) {
  const auto a = BatchId::parse("a").value();
  const auto b = BatchId::parse("b").value();
  EXPECT_LT(a, b);
  EXPECT_LT(BatchId::parse("Z").value(), a);
  EXPECT_LT(b, BatchId::parse("\u00e4").value());
}

TEST(Ids, OneKindIsNeverTakenForAnother) {
  EXPECT_FALSE((std::is_convertible_v<SessionId, WorkerId>));
  EXPECT_FALSE((std::is_constructible_v<WorkerId, SessionId>));
  EXPECT_FALSE((std::is_constructible_v<MessageId, std::string>));
}

TEST(Names, TheMessageSaysWhatAndWhy) {
  EXPECT_TRUE(check_name("channel", "transcript", 64));
  EXPECT_TRUE(check_name("channel", "1234", 4));

  const auto too_long = check_name("channel", "12345", 4);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().message, "the channel has 5 bytes, at most 4 are allowed");

  const auto control = check_name("tool name", "pay\tnow", 64);
  ASSERT_FALSE(control);
  EXPECT_EQ(control.error().message, "the tool name has a control character at byte 3");
}

}  // namespace
}  // namespace perdure
