// Records of calls: JSON, and the marks on results.

#include "perdure/runtime/call_records.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

TEST(Intent, HasItsShape) {
  const Intent intent{.message = 3, .block = 1, .tool = "pay", .provider_id = "c1"};
  EXPECT_EQ(to_json(intent), R"({"message":3,"block":1,"tool":"pay","provider_id":"c1",)"
                             R"("args_digest":")" +
                                 to_hex(Digest{}) + R"(","repeat":"","scope":"","nonce":""})");
}

TEST(Intent, KeepsArgumentsOfItsOwnAsTheyWere) {
  for (const std::string& args : {std::string(R"({ "a" : 1.0 })"), std::string("{\"a"),
                                  std::string("\xFF"), std::string(300, '[')}) {
    const Intent intent{.args = args, .tool = "t"};
    EXPECT_EQ(intent_from_json(to_json(intent)).value().args, args);
  }
}

TEST(Outcome, IsReadFromTheMarksOfAResult) {
  ToolResultBlock result;
  EXPECT_FALSE(outcome_of(result));
  set_outcome(result, {.call = 12, .state = CallState::in_doubt});
  set_outcome(result, {.call = 12, .state = CallState::succeeded});
  EXPECT_EQ(result.unknown.size(), 2U);
  EXPECT_EQ(outcome_of(result), (Outcome{.call = 12, .state = CallState::succeeded}));
}

TEST(Outcome, OfAnotherWordIsNotFinal) {
  for (const std::string_view word : {"\"vanished\"", "7", "null", "{}"}) {
    ToolResultBlock result;
    result.unknown.emplace_back("call", RawJson::from_value(1));
    result.unknown.emplace_back("outcome", RawJson::from_text(std::string(word)).value());
    ASSERT_TRUE(outcome_of(result));
    EXPECT_FALSE(outcome_of(result)->is_final());
  }
  ToolResultBlock odd;
  odd.unknown.emplace_back("call", RawJson::from_value("one"));
  EXPECT_FALSE(outcome_of(odd));
}

TEST(Outcome, IsFinalInFiveStates) {
  using enum CallState;
  for (const CallState state : {succeeded, failed, denied, cancelled, abandoned}) {
    EXPECT_TRUE((Outcome{.state = state}.is_final()));
  }
  for (const CallState state : {intended, dispatched, in_doubt}) {
    EXPECT_FALSE((Outcome{.state = state}.is_final()));
  }
}

TEST(CallRecords, RefuseWhatIsNone) {
  for (const std::string_view text : {"", "{}", "[]", R"({"call":"1","tool":2})"}) {
    EXPECT_EQ(intent_from_json(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_EQ(doubt_from_json(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_EQ(evidence_from_json(text).error().code, ErrorCode::invalid_argument) << text;
    EXPECT_EQ(resolution_from_json(text).error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_EQ(request_from_json(R"({"digest":"x"})").error().code, ErrorCode::invalid_argument);
}

RC_GTEST_PROP(CallRecordsProperty, ComeBackWithAnyBytes,
              (const std::string& a, const std::string& b, Position call, bool flag)) {
  const Unknown unknown = *values::any_unknown();
  Intent intent{.message = call, .block = 2, .tool = a, .provider_id = b, .unknown = unknown};
  if (flag) intent.args = a;
  values::check_codec(intent, intent_from_json);
  values::check_codec(Doubt{.call = call, .why = a, .unknown = unknown}, doubt_from_json);
  values::check_codec(Evidence{.call = call, .text = b, .unknown = unknown}, evidence_from_json);
  values::check_codec(
      Resolution{.call = call, .decision = a, .who = b, .why = a, .unknown = unknown},
      resolution_from_json);
  values::check_codec(
      Request{.reservation = a, .model = b, .digest = sha256(a), .unknown = unknown},
      request_from_json);
}

}  // namespace
}  // namespace perdure
