// Approvals: what they are bound to, what may follow what, JSON.

#include "perdure/runtime/approval.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/entry.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

using enum ApprovalDecision;

const Digest args_digest = sha256("{}");
const Digest other_args = sha256("{\"to\":1}");

Approval of_call_7(ApprovalDecision decision) {
  return {.call = 7, .args_digest = args_digest, .decision = decision, .who = "Ada"};
}

TEST(Approvals, AreBoundToTheCallAndToItsArguments) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_TRUE(approvals.covers(7, args_digest));
  EXPECT_FALSE(approvals.covers(7, other_args));
  EXPECT_FALSE(approvals.covers(8, args_digest));
  EXPECT_EQ(approvals.find(7, other_args), nullptr);
  EXPECT_EQ(approvals.find(7, args_digest)->who, "Ada");
}

TEST(Approvals, AreUsedOnceAndCoverLaterAttempts) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  ASSERT_TRUE(approvals.apply(of_call_7(used)));
  EXPECT_TRUE(approvals.covers(7, args_digest));
  for (const ApprovalDecision decision : {asked, given, refused, used}) {
    const auto again = approvals.apply(of_call_7(decision));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::conflict);
  }
  EXPECT_EQ(approvals.find(7, args_digest)->decision, used);
}

TEST(Approvals, AreUsedOnlyIfGiven) {
  Approvals approvals;
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  EXPECT_TRUE(approvals.empty());
  ASSERT_TRUE(approvals.apply(of_call_7(asked)));
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  ASSERT_TRUE(approvals.apply(of_call_7(refused)));
  EXPECT_FALSE(approvals.apply(of_call_7(used)));
  EXPECT_FALSE(approvals.covers(7, args_digest));
}

TEST(Approvals, MayBeTakenBackUntilTheyAreUsed) {
  Approvals approvals;
  ASSERT_TRUE(approvals.apply(of_call_7(asked)));
  EXPECT_FALSE(approvals.covers(7, args_digest));
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_FALSE(approvals.apply(of_call_7(asked)));
  ASSERT_TRUE(approvals.apply(of_call_7(refused)));
  EXPECT_FALSE(approvals.covers(7, args_digest));
  ASSERT_TRUE(approvals.apply(of_call_7(given)));
  EXPECT_TRUE(approvals.covers(7, args_digest));
}

TEST(Approval, HasItsShape) {
  EXPECT_EQ(to_json(of_call_7(given)),
            R"({"call":7,"args_digest":")" + to_hex(args_digest) +
                R"(","who":"Ada","why":"","at":"1970-01-01T00:00:00.000Z"})");
}

TEST(Approval, RefusesWhatIsNone) {
  const std::string digest = to_hex(args_digest);
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

}  // namespace
}  // namespace perdure
