// What the parser takes, and what it says about the rest; and that all pages tell of the same table.

#include "command/command.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "command/help.hpp"
#include "doubles/must.hpp"
#include "doubles/places.hpp"
#include "perdure/core/json.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

std::string complaint(const std::vector<std::string>& words) {
  const auto given = parse(commands(), words);
  return given ? "none" : given.error().message;
}

TEST(Parse, OptionsMayStandAnywhereUntilTwoDashes) {
  const Invocation given =
      must(parse(commands(), {"--json", "sessions", "a", "--limit=3", "--", "--all"}));
  EXPECT_EQ(given.command->name, "sessions");
  EXPECT_EQ(given.arguments, (std::vector<std::string>{"a", "--all"}));
  EXPECT_EQ(given.find("limit"), "3");
  EXPECT_TRUE(given.has("json"));
  EXPECT_FALSE(given.has("all"));
}

TEST(Parse, AValueMayFollowOrBeJoined) {
  EXPECT_EQ(must(parse(commands(), {"sessions", "--limit", "3"})).find("limit"), "3");
  EXPECT_EQ(must(parse(commands(), {"-y", "sessions"})).has("yes"), true);
}

TEST(Parse, NothingIsAbbreviatedAndTheNearestNameIsSuggested) {
  EXPECT_TRUE(complaint({"session"}).contains("did you mean sessions?"));
  EXPECT_TRUE(complaint({"sessions", "--limt", "3"}).contains("did you mean --limit?"));
  EXPECT_TRUE(complaint({"sessions", "-tag:test"}).contains("write -- before it"));
  EXPECT_TRUE(complaint({"resume", "@last", "-5"}).contains("write -- before it"));
  EXPECT_TRUE(complaint({"sessions", "--lim", "3"}).contains("there is no option --lim"));
}

TEST(Parse, WhatIsMissingOrTooMuchIsSaid) {
  EXPECT_TRUE(complaint({"show"}).contains("usage: perdure show SES"));
  EXPECT_TRUE(complaint({"show", "a", "b"}).contains("too much"));
  EXPECT_TRUE(complaint({"sessions", "--limit"}).contains("needs a value"));
  EXPECT_TRUE(complaint({"sessions", "--limit", "1", "--limit", "2"}).contains("twice"));
  EXPECT_TRUE(complaint({"sessions", "--all=yes"}).contains("takes no value"));
  EXPECT_TRUE(complaint({"sessions", "--sort", "size"}).contains("is one of"));
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Reference, IsFresh) {
  const std::filesystem::path folder =
      std::filesystem::path(repository_root()) / "docs/reference/cli";
  EXPECT_EQ(file_text(folder / "README.md"), markdown_index(commands()))
      << "perdure reference markdown docs/reference/cli";
  std::size_t pages = 1;
  for (const Command& command : commands()) {
    if (command.is_hidden) continue;
    ++pages;
    EXPECT_EQ(file_text(folder / fmt::format("{}.md", command.name)), markdown_of(command));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), pages);
}

TEST(Reference, FieldsAreTheMembersOfTheSchemasItems) {
  for (const Command& command : commands()) {
    if (command.fields.empty()) continue;
    const std::string name(command.schema.substr(0, command.schema.find('/')));
    const Json schema = parse_json(file_text(std::filesystem::path(repository_root()) /
                                             "docs/reference/schemas" / (name + ".json")))
                            .value();
    std::vector<std::string_view> members;
    for (const auto& [member, shape] :
         *schema.find("$defs")->find("item")->find("properties")->as_object()) {
      members.push_back(member);
    }
    EXPECT_EQ(members, command.fields) << name;
  }
}

TEST(Reference, EveryFormTellsOfEveryCommandAndOption) {
  for (const Command& command : commands()) {
    if (command.is_hidden) continue;
    EXPECT_TRUE(overview(commands()).contains(command.summary));
    const auto offered = suggestions_for(commands(), {std::string(command.name)}).words;
    EXPECT_NE(std::ranges::find(offered, command.name, &Suggestion::word), offered.end());
    for (const Option& option : command.options) {
      EXPECT_TRUE(help_of(command).contains(fmt::format("--{}", option.name)));
      EXPECT_TRUE(markdown_of(command).contains(fmt::format("--{}", option.name)));
      EXPECT_TRUE(man_of(command).contains(option.summary.substr(0, 5)));
      const std::string word = fmt::format("--{}", option.name);
      EXPECT_FALSE(suggestions_for(commands(), {std::string(command.name), word}).words.empty());
    }
  }
}

}  // namespace
}  // namespace perdure::cli
