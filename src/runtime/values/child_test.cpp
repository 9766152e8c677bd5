// Records of children: what comes back, and what is refused.

#include <gtest/gtest.h>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/session_records.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

TEST(ChildSpawn, ComesBackFromItsText) {
  const ChildSpawn spawn{.child = "c",
                         .root = "r",
                         .nonce = "n",
                         .agent_digest = "d",
                         .limit_micros = 5,
                         .setup = perdure::Setup{.model = "m"}};
  EXPECT_EQ(child_spawn_from_json(to_json(spawn)), spawn);
  const ChildSpawn bare{.child = "c", .root = "r"};
  EXPECT_EQ(child_spawn_from_json(to_json(bare)), bare);
}

TEST(ChildEnd, ComesBackFromItsText) {
  const ChildEnd end{.child = "c",
                     .number = 2,
                     .status = Status::failed,
                     .spent_micros = 7,
                     .unconfirmed_micros = 3,
                     .result = "\xff odd"};
  EXPECT_EQ(child_end_from_json(to_json(end)), end);
}

TEST(ChildRecords, KeepWhatTheyDoNotKnow) {
  const std::string text =
      R"({"child":"c","root":"r","nonce":"","agent_digest":"","later":[1, 2]})";
  EXPECT_EQ(to_json(child_spawn_from_json(text).value()), text);
}

TEST(ChildRecords, RefuseWhatMakesNoSense) {
  for (const char* const text :
       {R"({"child":"c"})", R"({"child":"c","root":"r","limit_micros":-1})",
        R"({"child":"c","root":"r","setup":1})"}) {
    const auto read = child_spawn_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << text;
  }
  for (const char* const text : {R"({"child":"c"})", R"({"child":"c","spent_micros":-1})",
                                 R"({"child":"c","spent_micros":1,"unconfirmed_micros":2})",
                                 R"({"child":"c","spent_micros":1,"status":"gone"})"}) {
    const auto read = child_end_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(ChildOf, IsTheSameForACallAndNoOther) {
  const SessionId parent = SessionId::parse("ses_p").value();
  const OpenCall call{.call = 3, .nonce = "n"};
  EXPECT_EQ(child_of(parent, call), child_of(parent, call));
  EXPECT_NE(child_of(parent, call), child_of(parent, {.call = 4, .nonce = "n"}));
  EXPECT_NE(child_of(parent, call), child_of(SessionId::parse("ses_q").value(), call));
  EXPECT_NE(child_of(parent, call), child_of(parent, {.call = 3, .nonce = "m"}))
      << "the parent's id is used again";
}

}  // namespace
}  // namespace perdure
