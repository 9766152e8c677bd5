// Origins, to JSON and back.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/session_records.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

TEST(Origin, HasItsShape) {
  EXPECT_EQ(to_json(Origin{.root = "ses_1", .nonce = "n", .agent_digest = "ab"}),
            R"({"root":"ses_1","nonce":"n","agent_digest":"ab"})");
}

TEST(Origin, RefusesWhatIsNone) {
  for (const std::string_view text : {"", "{}", "[]", R"({"root":1})"}) {
    const auto origin = origin_from_json(text);
    ASSERT_FALSE(origin) << text;
    EXPECT_EQ(origin.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(AgentChange, HasItsShape) {
  EXPECT_EQ(to_json(AgentChange{.agent_digest = "ab", .parts = {"model", "tools"}, .who = "ann"}),
            R"({"agent_digest":"ab","parts":["model","tools"],"who":"ann"})");
}

TEST(AgentChange, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "{}", "[]", R"({"agent_digest":"ab","parts":[1]})", R"({"agent_digest":1})"}) {
    const auto change = agent_change_from_json(text);
    ASSERT_FALSE(change) << text;
    EXPECT_EQ(change.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(AgentChangeProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b)) {
  values::check_codec(
      AgentChange{
          .agent_digest = a, .parts = {"one", "two"}, .who = b, .unknown = *values::any_unknown()},
      agent_change_from_json);
}

RC_GTEST_PROP(OriginProperty, ComesBackWithAnyBytes, (const std::string& a, const std::string& b)) {
  values::check_codec(
      Origin{.root = a, .nonce = b, .agent_digest = a, .unknown = *values::any_unknown()},
      origin_from_json);
}

}  // namespace
}  // namespace perdure
