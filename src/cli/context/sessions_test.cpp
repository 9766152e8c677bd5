// Which session, point or call a word means, on every backend.

#include "context/sessions.hpp"

#include <gtest/gtest.h>
#include <string>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "fixture.hpp"

namespace perdure::cli {
namespace {

class ReferenceTest : public testing::TestWithParam<Backend> {
 protected:
  ReferenceTest() { fixture.fill(); }

  std::string session(const std::string& text) {
    return must(find_session(fixture.store(), text)).id.text();
  }
  std::string complaint(const std::string& text) {
    const auto found = find_session(fixture.store(), text);
    return found ? "none" : found.error().message;
  }

  CliFixture fixture{GetParam()};
};

TEST_P(ReferenceTest, ASessionIsFoundByIdBeginningTitleOrBeingTheLast) {
  EXPECT_EQ(session("ses_7k2mq4"), "ses_7k2mq4");
  EXPECT_EQ(session("ses_7"), "ses_7k2mq4");
  EXPECT_EQ(session("Weekly report"), "ses_5d0c00");
  EXPECT_EQ(session("@last"), "ses_9pq400");
}

TEST_P(ReferenceTest, WhatMayMeanSeveralIsRefusedWithAList) {
  const std::string told = complaint("ses_0");
  EXPECT_TRUE(told.contains("several")) << told;
  EXPECT_TRUE(told.contains("ses_0bad00") && told.contains("ses_01d000")) << told;
}

TEST_P(ReferenceTest, ABeginningHasAtLeastFourCharacters) {
  EXPECT_TRUE(complaint("ses").contains("at least 4")) << complaint("ses");
}

TEST_P(ReferenceTest, AnEmptyWordIsNotTheOneSessionWithoutATitle) {
  must(fixture.store().sessions().create({.id = must(SessionId::parse("ses_4nam"))}));
  EXPECT_TRUE(complaint("").contains("an empty word names none")) << complaint("");
}

TEST_P(ReferenceTest, APartOfATitleIsNotEnough) {
  EXPECT_TRUE(complaint("Weekly").contains("there is no session"));
}

TEST_P(ReferenceTest, PointsAreVersionsTurnsStepsAndTheHead) {
  Store& store = fixture.store();
  EXPECT_EQ(must(find_point(store, "ses_7k2m")).point, Point::head());
  EXPECT_EQ(must(find_point(store, "ses_7k2m@head")).point, Point::head());
  EXPECT_EQ(must(find_point(store, "ses_7k2m@v1")).point, Point::version(1));
  const Position first = must(find_point(store, "ses_7k2m@1")).point.number();
  EXPECT_EQ(must(find_point(store, "ses_7k2m@1.3")).point.number(), first);
  EXPECT_LT(must(find_point(store, "ses_7k2m@1.2")).point.number(), first);
  EXPECT_GT(must(find_point(store, "ses_7k2m@2.0")).point.number(), first);
  EXPECT_EQ(must(find_point(store, "@last@v1")).session.id.text(), "ses_9pq400");
  for (const char* text : {"ses_7k2m@v9", "ses_7k2m@3", "ses_7k2m@1.9"}) {
    EXPECT_EQ(find_point(store, text).error().code, ErrorCode::not_found) << text;
  }
  for (const char* text :
       {"ses_7k2m@", "ses_7k2m@x", "ses_7k2m@v", "ses_7k2m@0", "ses_7k2m@1.", "ses_7k2m@-1"}) {
    EXPECT_EQ(find_point(store, text).error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST_P(ReferenceTest, ATitleMayHoldAnAt) {
  const SessionId id = must(SessionId::parse("ses_4mail"));
  must(fixture.store().sessions().create(
      {.id = id, .annotation = {.title = "Mail ann@example.com"}}));
  EXPECT_EQ(must(find_point(fixture.store(), "Mail ann@example.com")).session.id, id);
  EXPECT_EQ(must(find_point(fixture.store(), "Mail ann@example.com@head")).session.id, id);
}

INSTANTIATE_TEST_SUITE_P(Every, ReferenceTest, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::cli
