// Setups: their JSON, byte for byte where a provider looks at bytes.
//
// gtest has a Setup of its own, so ours is named in full.

#include "perdure/runtime/setup.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

TEST(Setup, HasItsShape) {
  perdure::Setup setup{.system_prompt = "Be brief.", .model = "m-1"};
  setup.tools.push_back({.name = "pay", .description = "Pays."});
  EXPECT_EQ(to_json(setup), R"({"system_prompt":"Be brief.","model":"m-1","parameters":{},)"
                            R"("tools":[{"name":"pay","description":"Pays.","input_schema":{}}]})");
}

TEST(Setup, KeepsSchemasParametersAndWhatItDoesNotKnowByteForByte) {
  const std::string text =
      R"({"system_prompt":"","model":"m","parameters":{ "temperature" : 1.0 },)"
      R"("tools":[{"name":"t","description":"","input_schema":{ "type":"\u006fbject" },)"
      R"("cache": {"ttl" : 5}}],"beta":[ "x" ]})";
  const auto setup = setup_from_json(text);
  ASSERT_TRUE(setup) << setup.error().message;
  EXPECT_EQ(setup->parameters.text(), R"({ "temperature" : 1.0 })");
  const std::string again = to_json(*setup);
  EXPECT_NE(again.find(R"("input_schema":{ "type":"\u006fbject" })"), std::string::npos);
  EXPECT_NE(again.find(R"("cache":{"ttl" : 5})"), std::string::npos);
  EXPECT_NE(again.find(R"("beta":[ "x" ])"), std::string::npos);
}

TEST(Setup, ComesBackWithASchemaThatNestsAsDeepAsJsonMay) {
  std::string deep(json_depth_max, '[');
  deep.append(json_depth_max, ']');
  perdure::Setup setup;
  setup.parameters = RawJson::from_text(deep).value();
  setup.tools.push_back({.name = "t", .input_schema = setup.parameters});
  const auto back = setup_from_json(to_json(setup));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, setup);
}

TEST(Setup, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "[]", "null", R"({"model":1})", R"({"tools":{}})", R"({"tools":[{}]})",
        R"({"tools":[{"name":[]}]})", R"({"model":"","model_base64":"?"})"}) {
    const auto setup = setup_from_json(text);
    ASSERT_FALSE(setup) << text;
    EXPECT_EQ(setup.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(SetupProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b, const std::string& c)) {
  perdure::Setup setup{.system_prompt = a, .model = b, .unknown = *values::any_unknown()};
  setup.parameters = RawJson::from_value(c);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    setup.tools.push_back({.name = c, .description = a, .unknown = *values::any_unknown()});
  }
  values::check_codec(setup, setup_from_json);
}

}  // namespace
}  // namespace perdure
