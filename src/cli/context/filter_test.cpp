// The words that `sessions` takes, each as a test of one row.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "context/sessions.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;

const Timestamp now{days(20'000)};

SessionSummary row() {
  SessionSummary made{.id = must(SessionId::parse("ses_1"))};
  made.title = "Refund order 4711";
  made.opening = "Please look it up";
  made.status = Status::waiting;
  made.tags = {"prod", "eu-west"};
  made.tally = {
      .turns = 3, .steps = 12, .tokens_in = 15'000, .tokens_out = 6'000, .cost_micros = 500'000};
  made.created_at = now - days(8);
  made.updated_at = now - hours(1);
  return made;
}

bool fits(const std::vector<std::string>& words) { return must(filter_from(words, now))(row()); }

TEST(FilterTest, EachWordHoldsOrNot) {
  for (const char* word : {"refund", "ORDER", "look", "title:Refund*", "state:waiting", "tag:prod",
                           "tag:eu-*", "tokens:>20000", "cost:<0.6", "turns:<4", "steps:>11",
                           "active:<2h", "age:>7d", "-tag:test", "-weekly"}) {
    EXPECT_TRUE(fits({word})) << word;
  }
  for (const char* word :
       {"weekly", "title:refund*", "state:paused", "tag:pro", "tokens:>21000", "cost:<0.5",
        "turns:<3", "steps:>12", "active:<59m", "age:>9d", "-tag:prod", "-refund"}) {
    EXPECT_FALSE(fits({word})) << word;
  }
}

TEST(FilterTest, AllWordsMustHoldHoweverTheyAreGiven) {
  EXPECT_TRUE(fits({"refund", "tag:prod"}));
  EXPECT_TRUE(fits({"refund tag:prod"}));
  EXPECT_TRUE(fits({"\"order 4711\" tag:prod"}));
  EXPECT_FALSE(fits({"refund", "tag:test"}));
  EXPECT_FALSE(fits({"refund tag:test"}));
  EXPECT_TRUE(fits({}));
}

TEST(FilterTest, WhatMakesNoSenseIsRefused) {
  for (const char* word : {"state:asleep", "tokens:20000", "tokens:>many", "cost:>", "age:<2x",
                           "colour:red", "turns:>nan", "turns:>inf"}) {
    const auto made = filter_from({word}, now);
    ASSERT_FALSE(made) << word;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(made.error().message.contains(word)) << made.error().message;
  }
}

}  // namespace
}  // namespace perdure::cli
