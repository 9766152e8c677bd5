// Keys: which calls are one operation, and which are not.

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/operation.hpp"

namespace perdure::dispatch {
namespace {

Tool email() {
  Tool tool;
  tool.name = "send_email";
  tool.repeat = Repeat::once_per_session;
  tool.input_schema =
      R"({"properties":{"urgent":{"default":false},"from":{"properties":{"name":{"default":"me"}}}}})";
  return tool;
}

Json args(std::string_view text) { return parse_json(text).value(); }

constexpr Place here = {"ses_1", 3, "n", "ses_0", "r"};

Digest key(const Tool& tool, std::string_view text, const Place& place = here) {
  return operation_of(tool, args(text), place).value().key;
}

TEST(Key, IsTheSameForTheSameArgumentsHoweverWritten) {
  const auto one = key(email(), R"({"to":"a","n":1})");
  EXPECT_EQ(one, key(email(), R"({ "n" : 1.0, "to":"\u0061" })"));
  EXPECT_NE(one, key(email(), R"({"to":"b","n":1})"));
}

TEST(Key, CountsADefaultAsGiven) {
  EXPECT_EQ(key(email(), R"({"to":"a"})"), key(email(), R"({"to":"a","urgent":false})"));
  EXPECT_EQ(key(email(), R"({"from":{}})"), key(email(), R"({"from":{"name":"me"}})"));
  EXPECT_NE(key(email(), R"({"to":"a"})"), key(email(), R"({"to":"a","urgent":true})"));
}

TEST(Key, KeepsLargeNumbersApart) {
  EXPECT_NE(key(email(), R"({"n":9007199254740993})"), key(email(), R"({"n":9007199254740992})"));
}

TEST(Key, DependsOnTheTool) {
  Tool other = email();
  other.name = "send_letter";
  EXPECT_NE(key(email(), "{}"), key(other, "{}"));
}

TEST(Key, OfEachCallIsItsOwn) {
  Tool tool = email();
  tool.repeat = Repeat::each_call;
  const auto one = key(tool, "{}", here);
  EXPECT_NE(one, key(tool, "{}", {"ses_1", 4, "n", "ses_0", "r"}));
  EXPECT_NE(one, key(tool, "{}", {"ses_2", 3, "n", "ses_0", "r"}));
  EXPECT_NE(one, key(tool, "{}", {"ses_1", 3, "m", "ses_0", "r"})) << "the id is used again";
}

TEST(Key, OncePerSessionIsOnceInTheWholeTree) {
  const auto one = key(email(), "{}", here);
  EXPECT_EQ(one, key(email(), "{}", {"ses_2", 9, "m", "ses_0", "r"}));
  EXPECT_NE(one, key(email(), "{}", {"ses_1", 3, "n", "ses_9", "r"}));
  EXPECT_NE(one, key(email(), "{}", {"ses_1", 3, "n", "ses_0", "q"})) << "the id is used again";
}

TEST(Key, OncePerSessionNeedsToKnowTheSession) {
  const auto operation = operation_of(email(), args("{}"), {"ses_1", 3, "n", "ses_0", ""});
  ASSERT_FALSE(operation);
  EXPECT_EQ(operation.error().code, ErrorCode::corrupted);
}

TEST(Key, OncePerStoreIsOnceForAll) {
  Tool tool = email();
  tool.repeat = Repeat::once_per_store;
  EXPECT_EQ(key(tool, "{}", here), key(tool, "{}", {"ses_2", 9, "m", "ses_9", "q"}));
}

// Fields are length-prefixed: no pair of them can be mistaken for another.
TEST(Key, DoesNotConfuseFields) {
  Tool one = email();
  Tool other = email();
  one.name = "a";
  other.name = "a{}";
  EXPECT_NE(key(one, "{}"), key(other, "{}"));
}

TEST(Key, IsThatOfTheBusinessKeyIfThereIsOne) {
  Tool tool = email();
  tool.business_key = "/order/id~1no";
  const auto one = operation_of(tool, args(R"({"order":{"id/no":7},"text":"a"})"), here);
  const auto two = operation_of(tool, args(R"({"order":{"id/no":7},"text":"b"})"), here);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->key, two->key);
  EXPECT_NE(one->args, two->args);
}

TEST(Key, NeedsItsBusinessKey) {
  Tool tool = email();
  tool.business_key = "/order";
  for (const std::string_view text : {"{}", R"({"order":null})", "[]", "1"}) {
    const auto operation = operation_of(tool, args(text), here);
    ASSERT_FALSE(operation) << text;
    EXPECT_EQ(operation.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Key, OfArgumentsWithoutACanonicalFormIsRefused) {
  EXPECT_FALSE(operation_of(email(), args(R"({"a":1,"a":2})"), here));
}

TEST(VendorKey, ChangesOnlyAfterAFailure) {
  const Digest digest = sha256("x");
  EXPECT_EQ(vendor_key(digest, 0), to_hex(digest));
  EXPECT_NE(vendor_key(digest, 1), vendor_key(digest, 0));
}

}  // namespace
}  // namespace perdure::dispatch
