// Patterns are PCRE2's, read ECMAScript's common syntax, and end. What ajv says of many is compared
// in tests/tools/schema.

#include "text/pattern.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure::schema {
namespace {

Match find(const std::string& source, const std::string& text) {
  const auto pattern = Pattern::compile(source);
  EXPECT_TRUE(pattern) << source << ": " << (pattern ? "" : pattern.error().message);
  return pattern ? pattern->find_in(text) : Match::too_much_work;
}

TEST(PatternTest, IsFoundAnywhereUnlessItIsTiedToAnEnd) {
  EXPECT_EQ(find("b", "abc"), Match::yes);
  EXPECT_EQ(find("^b", "abc"), Match::no);
  EXPECT_EQ(find("b$", "ab\n"), Match::no);
}

TEST(PatternTest, ReadsTheEscapesOfECMAScript) {
  EXPECT_EQ(find(R"(^[^\u0000]$)", "a"), Match::yes);
  EXPECT_EQ(find(R"(^\u{1F600}\x41\cJ\0$)", std::string("\U0001f600A\n\0", 7)), Match::yes);
  EXPECT_EQ(find(R"(^\p{Script=Greek}\P{L}$)", "\u03b11"), Match::yes);
  EXPECT_EQ(find(R"((?<year>\d{4})-\k<year>)", "2020-2021"), Match::no);
  EXPECT_EQ(find(R"((a)|\1b)", "b"), Match::yes) << "a group that took no part matches nothing";
  EXPECT_EQ(find("[^]", "\n"), Match::yes);
  EXPECT_EQ(find("a[]", "a"), Match::no);
}

// As docs/tools.md says.
TEST(PatternTest, DiffersFromECMAScript) {
  EXPECT_EQ(find(R"(^\s$)", "\v"), Match::yes);
  EXPECT_EQ(find(R"(^\s$)", "\u00a0"), Match::no);
  EXPECT_EQ(find("^.$", "\r"), Match::no);
  EXPECT_EQ(find("^.$", "\u2028"), Match::yes);
  EXPECT_EQ(find("^(?i)a++$", "AA"), Match::yes);
  for (const auto* source : {R"(\ud83d\ude00)", R"(\p{Letter})", "(?<=a+)b", R"(\C)"}) {
    EXPECT_FALSE(Pattern::compile(source)) << source;
  }
}

TEST(PatternTest, SaysWhereItIsWrong) {
  const auto pattern = Pattern::compile("ab(");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(pattern.error().message,
            "the pattern ab( cannot be used: missing closing parenthesis (after 3 bytes of it)");
}

TEST(PatternTest, TakesTheLibertiesOfBrowsers) {
  EXPECT_EQ(find(R"(^a\:b$)", "a:b"), Match::yes);
  EXPECT_EQ(find("^{x}$", "{x}"), Match::yes);
}

TEST(PatternTest, ThatBacktracksWithoutEndIsGivenUp) {
  EXPECT_EQ(find("^(a+)+$", std::string(40, 'a') + "b"), Match::too_much_work);
  EXPECT_EQ(find("^(a|aa)+$", std::string(200, 'a') + "b"), Match::too_much_work);
}

TEST(PatternTest, CannotRaiseItsOwnLimits) {
  EXPECT_EQ(find("(*LIMIT_MATCH=4000000000)^(a+)+$", std::string(40, 'a') + "b"),
            Match::too_much_work);
  EXPECT_EQ(find("(*LIMIT_HEAP=4000000000)(*LIMIT_DEPTH=4000000000)^(a|aa)+$",
                 std::string(200'000, 'a') + "b"),
            Match::too_much_work);
}

TEST(PatternTest, ThatRecursesWithoutEndIsGivenUp) {
  EXPECT_EQ(find("(?R)", "a"), Match::too_much_work);
  EXPECT_EQ(find("^(a|(?1)(?1))*[bc]$", std::string(20'000, 'a')), Match::too_much_work);
  // Each group calls the next one twice: 2^60 calls.
  std::string doubling;
  for (int i = 2; i <= 60; ++i) doubling += fmt::format("((?{0})(?{0}))?", i);
  EXPECT_EQ(find("^(?1)[bc]$(?(DEFINE)" + doubling + "(a?))", std::string(100, 'a')),
            Match::too_much_work);
}

TEST(PatternTest, ThatIsHugeIsRefused) {
  EXPECT_FALSE(Pattern::compile(std::string(100'000, '(')));
  EXPECT_FALSE(Pattern::compile(std::string(1000, '(') + std::string(1000, ')')));
  EXPECT_FALSE(Pattern::compile("(a{1000}){1000}{1000}"));
  EXPECT_FALSE(Pattern::compile("((a{60000}){60000}){60000}"));
  EXPECT_FALSE(Pattern::compile("\xff"));
  EXPECT_FALSE(Pattern::compile(R"(\p{Scrippt=Greek)"));
}

}  // namespace
}  // namespace perdure::schema
