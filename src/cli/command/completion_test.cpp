// What a Tab offers, wherever the cursor is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "command/help.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> words_for(const std::vector<std::string>& typed) {
  std::vector<std::string> words;
  for (const Suggestion& each : suggestions_for(commands(), typed).words)
    words.push_back(each.word);
  return words;
}

Completes kind_for(const std::vector<std::string>& typed) {
  return suggestions_for(commands(), typed).by;
}

TEST(SuggestionsTest, VerbsAreOfferedButNotTheHiddenOnes) {
  EXPECT_THAT(words_for({"sess"}), ElementsAre("sessions"));
  EXPECT_THAT(words_for({""}), Contains("run"));
  EXPECT_THAT(words_for({"comple"}), ElementsAre("completion"));
  EXPECT_THAT(words_for({"help", "sess"}), ElementsAre("sessions"));
}

TEST(SuggestionsTest, AnOptionBeforeTheVerbDoesNotHideIt) {
  EXPECT_THAT(words_for({"--json", "sess"}), ElementsAre("sessions"));
  EXPECT_THAT(words_for({"--store", "a.db", "sess"}), ElementsAre("sessions"));
  EXPECT_EQ(kind_for({"--store=a.db", "show", ""}), Completes::session);
  EXPECT_EQ(suggestions_for(commands(), {"--store=a.db", "show", ""}).store, "a.db");
  EXPECT_EQ(suggestions_for(commands(), {"show", "--store", "b.db", ""}).store, "b.db");
}

TEST(SuggestionsTest, OptionsAreThoseOfTheVerbAndOfAll) {
  EXPECT_THAT(words_for({"resolve", "--rea"}), ElementsAre("--reason"));
  EXPECT_THAT(words_for({"resolve", "--js"}), ElementsAre("--json", "--jsonl"));
  EXPECT_THAT(words_for({"--rea"}), IsEmpty());
  EXPECT_THAT(words_for({"run", "--", "--js"}), IsEmpty());
}

TEST(SuggestionsTest, ValuesAreThoseOfTheOption) {
  EXPECT_THAT(words_for({"resolve", "--as", ""}),
              ElementsAre("succeeded", "failed", "retry", "abandoned"));
  EXPECT_THAT(words_for({"resolve", "--as=su"}), ElementsAre("--as=succeeded"));
  EXPECT_THAT(words_for({"run", "--provider", "a"}), ElementsAre("anthropic"));
  EXPECT_THAT(words_for({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_EQ(kind_for({"export", "-o", ""}), Completes::file);
  EXPECT_EQ(kind_for({"resume", "ses_1", "--agent", ""}), Completes::file);
  EXPECT_EQ(kind_for({"run", "--title", ""}), Completes::nothing);
}

TEST(SuggestionsTest, EachArgumentHasItsOwnKind) {
  EXPECT_EQ(kind_for({"chat", ""}), Completes::session_or_file);
  EXPECT_EQ(kind_for({"copy", ""}), Completes::file);
  EXPECT_EQ(kind_for({"copy", "to.db", ""}), Completes::session);
  EXPECT_EQ(kind_for({"copy", "to.db", "ses_1", ""}), Completes::session);
  EXPECT_EQ(kind_for({"resolve", ""}), Completes::call);
  EXPECT_EQ(kind_for({"resume", "ses_1", ""}), Completes::nothing);
  EXPECT_THAT(words_for({"show", "ses_1", "--j"}), Not(IsEmpty()));
}

}  // namespace
}  // namespace perdure::cli
