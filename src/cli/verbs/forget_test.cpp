// What a dry run says will go is what goes.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

class ForgetTest : public testing::Test {
 protected:
  ForgetTest() {
    fixture.fill();
    for (int i = 0; i < 12; ++i) {
      fixture.clock.advance(std::chrono::hours(1));
      must(fixture.running().checkpoint({.reason = "made", .label = i % 5 == 0 ? "kept" : ""}));
    }
  }

  std::string versions(std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "--yes", "prune", "ses_9pq400"});
    const Said said = fixture.run(words);
    EXPECT_EQ(said.exit, 0) << said.err;
    return must(parse_json(said.out)).find("versions")->text();
  }

  CliFixture fixture;
};

TEST_F(ForgetTest, ADryRunCountsWhatGoes) {
  const std::vector<std::vector<std::string>> rules = {
      {"--keep-last", "9", "--keep-every", "2"},
      {"--keep-last", "8"},
      {"--older-than", "4h"},
      {"--keep-every", "4"},
      {"--drop-labelled"},
  };
  for (const std::vector<std::string>& rule : rules) {
    std::vector<std::string> dry = rule;
    dry.emplace_back("--dry-run");
    const std::string told = versions(dry);
    EXPECT_NE(told, "0") << rule.front();
    EXPECT_EQ(versions(rule), told) << rule.front();
    EXPECT_EQ(versions(dry), "0") << rule.front();
  }
}

TEST_F(ForgetTest, APointIsNotTheWholeSession) {
  for (const char* point : {"ses_01d0@head", "@last@head", "ses_01d0@1"}) {
    const Said said = fixture.run({"--yes", "delete", point});
    EXPECT_EQ(said.exit, 2) << point << said.out;
  }
  EXPECT_EQ(must(fixture.store().sessions().list({})).sessions.size(), 9U);
}

}  // namespace
}  // namespace perdure::cli
