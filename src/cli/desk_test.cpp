// Commands that are suggested work when they are copied: also where --store named the store.

#include "desk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "doubles/must.hpp"
#include "fixture.hpp"
#include "place/settings.hpp"
#include "world.hpp"

namespace perdure::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Suggestion {
  std::vector<std::string> words;
  std::string command;  ///< Without the store.
};

TEST(SuggestedCommands, NameTheStoreThatWasNamed) {
  CliFixture fixture;
  fixture.fill();
  const std::vector<Suggestion> suggestions = {
      {{"sessions"}, "perdure pending"},
      {{"show", "ses_2b7x"}, "perdure pending ses_2b7x00"},
      {{"pending"}, "perdure approve CALL"},
      {{"pending"}, "perdure answer CALL TEXT"},
      {{"pending"}, "perdure resolve CALL --as succeeded|failed|retry|abandoned --reason \"…\""},
      {{"cancel", "ses_7k2m"}, "perdure fork ses_7k2mq4"},
      {{"delete", "--yes", "ses_2b7x"}, "--reason \"…\""},
      {{"fork", "ses_7k2m"}, "perdure resume ses_"},
  };
  for (auto [words, command] : suggestions) {
    const Said plain = fixture.run(words);
    EXPECT_THAT(plain.out + plain.err, HasSubstr(command)) << words.front();
    EXPECT_THAT(plain.out + plain.err, Not(HasSubstr(" --store "))) << words.front();
    words.insert(words.end(), {"--store", fixture.location()});
    const Said named = fixture.run(words);
    const std::string said = named.out + named.err;
    const std::size_t at = said.find(command);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_THAT(said.substr(at, said.find('\n', at) - at),
                HasSubstr(" --store " + fixture.location()));
  }
}

TEST(SuggestedCommands, NeverSayAPassword) {
  std::ostringstream out;
  World world{.out = out, .err = out, .environment = [](const std::string& /*name*/) {
                return std::optional<std::string>();
              }};
  Invocation given;
  given.options["store"] = {"postgres://ann:hunter2@db.example/agents"};
  const Desk desk(world, given, must(read_settings(world, given)));
  EXPECT_EQ(desk.command("pending"),
            "perdure pending --store 'postgres://ann:***@db.example/agents'");
}

TEST(MistypedStores, AreRefusedWithoutTheirPassword) {
  CliFixture fixture;
  for (const std::string store :
       {"POSTGRES://ann:hunter2@h/d", "mysql://ann:hunter2@h/d", "postgres:/ann:hunter2@h/d",
        "host=h password=hunter2 user=ann", "ann:hunter2@h/d"}) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"sessions", "--store", store},
                                               {"sessions", "--json", "--store", store},
                                               {"config", "--store", store},
                                               {"config", "--json", "--store", store},
                                               {"copy", store, "--yes"},
                                               {"salvage", store, "saved.db"},
                                               {"sessions", "--stor=" + store}}) {
      const Said said = fixture.run(words);
      EXPECT_THAT(said.out + said.err, Not(HasSubstr("hunter2"))) << words.front();
    }
  }
  EXPECT_THAT(fixture.run({"sessions", "--store", "postgres:/ann:hunter2@h/d"}).err,
              HasSubstr("did you mean postgres://"));
}

}  // namespace
}  // namespace perdure::cli
