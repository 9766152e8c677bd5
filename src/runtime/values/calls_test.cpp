// Approvals, records of calls, marks of results: what may follow what, and JSON.

#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "values/codec_fixture.hpp"

namespace perdure {
namespace {

using enum ApprovalDecision;

const Digest digest_of_args = sha256("{}");
const Digest other_args = sha256("{\"to\":1}");

Approval of_call_7(ApprovalDecision decision) {
  return {.call = 7, .args_digest = digest_of_args, .decision = decision, .who = "Ada"};
}

TEST(Approvals, AreBoundToTheCallAndToItsArguments) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_TRUE(approvals.covers(7, digest_of_args));
  EXPECT_FALSE(approvals.covers(7, other_args));
  EXPECT_FALSE(approvals.covers(8, digest_of_args));
  EXPECT_EQ(approvals.find(7, other_args), nullptr);
  EXPECT_EQ(approvals.find(7, digest_of_args)->who, "Ada");
}

TEST(Approvals, AreUsedOnceAndCoverLaterAttempts) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  ASSERT_TRUE(approvals.apply(of_call_7(used)));
  EXPECT_TRUE(approvals.covers(7, digest_of_args));
  for (const ApprovalDecision decision : {asked, given, refused, used}) {
    const auto again = approvals.apply(of_call_7(decision));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::conflict);
  }
  EXPECT_EQ(approvals.find(7, digest_of_args)->decision, used);
}

TEST(Approvals, AreUsedOnlyIfGiven) {
  Approvals approvals;
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  EXPECT_TRUE(approvals.empty());
  ASSERT_TRUE(approvals.apply(of_call_7(asked)));
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  ASSERT_TRUE(approvals.apply(of_call_7(refused)));
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  EXPECT_FALSE(approvals.covers(7, digest_of_args));
}

TEST(Approvals, MayBeTakenBackUntilTheyAreUsed) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(asked)));
  EXPECT_FALSE(approvals.covers(7, digest_of_args));
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_FALSE(approvals.apply(of_call_7(asked)));
  ASSERT_TRUE(approvals.apply(of_call_7(refused)));
  EXPECT_FALSE(approvals.covers(7, digest_of_args));
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_TRUE(approvals.covers(7, digest_of_args));
}

TEST(Approval, HasItsShape) {
  EXPECT_EQ(to_json(of_call_7(given)),
            R"({"call":7,"args_digest":")" + to_hex(digest_of_args) +
                R"(","who":"Ada","why":"","at":"1970-01-01T00:00:00.000Z"})");
}

TEST(Approval, RefusesWhatIsNone) {
  const std::string digest = to_hex(digest_of_args);
  for (const std::string& text :
       {std::string("{}"), R"({"call":-1,"args_digest":")" + digest + "\"}",
        std::string(R"({"call":1,"args_digest":"ab"})"), std::string(R"({"call":1})"),
        R"({"args_digest":")" + digest + "\"}"}) {
    const auto approval = approval_from_json("given", text);
    ASSERT_FALSE(approval) << text;
    EXPECT_EQ(approval.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_FALSE(approval_from_json("granted", to_json(of_call_7(given))));
}

RC_GTEST_PROP(ApprovalProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b, Position call)) {
  const auto decision = *rc::gen::element(asked, given, refused, used);
  const Approval approval{.call = call,
                          .args_digest = sha256(a),
                          .decision = decision,
                          .who = a,
                          .why = b,
                          .unknown = *values::any_unknown()};
  values::check_codec(approval, [&](std::string_view json) {
    return approval_from_json(to_string(decision), json);
  });
}

TEST(Intent, HasItsShape) {
  const OpenCall intent{.message = 3, .block = 1, .tool = "pay", .provider_id = "c1"};
  EXPECT_EQ(to_json(intent), R"({"message":3,"block":1,"tool":"pay","provider_id":"c1",)"
                             R"("args_digest":")" +
                                 to_hex(Digest{}) + R"(","repeat":"","scope":"","nonce":""})");
}

TEST(Intent, KeepsArgumentsOfItsOwnAsTheyWere) {
  for (const std::string& args : {std::string(R"({ "a" : 1.0 })"), std::string("{\"a"),
                                  std::string("\xFF"), std::string(300, '[')}) {
    const OpenCall intent{.args = args, .tool = "t"};
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
  OpenCall intent{.message = call, .block = 2, .tool = a, .provider_id = b, .unknown = unknown};
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
