// Patterns mean what ECMAScript means by them, and end. What ajv says of many is compared in
// tests/tools/schema.

#include "tools/schema/pattern.hpp"

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

TEST(PatternTest, KnowsTheSpacesOfECMAScript) {
  EXPECT_EQ(find(R"(^\s$)", "\u00a0"), Match::yes);
  EXPECT_EQ(find(R"(^\s$)", "\v"), Match::yes);
  EXPECT_EQ(find(R"(^\S$)", "\ufeff"), Match::no);
  EXPECT_EQ(find("^.$", "\u2028"), Match::no);
}

TEST(PatternTest, TakesTheLibertiesOfBrowsers) {
  EXPECT_EQ(find(R"(^a\:b$)", "a:b"), Match::yes);
  EXPECT_EQ(find("^{x}$", "{x}"), Match::yes);
}

TEST(PatternTest, HasNothingOfPcre2) {
  for (const auto* source : {"(?i)a", "a++", "(?R)", "(?1)", R"(\Aa)", R"(\Qa\E)", "(?>a)", R"(\h)",
                             "(?#x)", "(?|a)", "a{2}{3}", "(?P<x>a)"}) {
    EXPECT_FALSE(Pattern::compile(source)) << source;
  }
  EXPECT_EQ(find(R"(^\(\*ACCEPT\)$)", "(*ACCEPT)"), Match::yes);
}

TEST(PatternTest, ThatBacktracksWithoutEndIsGivenUp) {
  EXPECT_EQ(find("^(a+)+$", std::string(40, 'a') + "b"), Match::too_much_work);
  EXPECT_EQ(find("^(a|aa)+$", std::string(200, 'a') + "b"), Match::too_much_work);
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
