// Commands that are suggested work when they are copied: also where --store named the store.

#include "context/command_context.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "fixture.hpp"

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
  ProcessIo io{.out = out, .err = out, .environment = [](const std::string& /*name*/) {
                 return std::optional<std::string>();
               }};
  const std::vector<Setting> settings = must(read_settings(io, Invocation()));
  Invocation given;
  given.options["store"] = {"postgres://ann:hunter2@db.example/agents"};
  const CommandContext context(io, given, settings);
  EXPECT_EQ(context.command("pending"),
            "perdure pending --store 'postgres://ann:***@db.example/agents'");
}

// Which number it ends with is what a script goes by.
TEST(ExitCodes, OfAServerSayWhoMayNotWhatIsNotThereAndWhatItCannotDo) {
  CliFixture fixture({"postgres", Home::schema});
  const std::string server = fixture.location();
  const auto exit_at = [&](const std::string& store) {
    return fixture.run({"sessions", "--store", store});
  };
  EXPECT_EQ(fixture.run({"sessions"}).exit, 0);
  EXPECT_EQ(exit_at(server + "&user=nobody_of_this_name").exit, 4);
  const Said no_database = exit_at(server + "&dbname=no_such_database");
  EXPECT_EQ(no_database.exit, 3);
  EXPECT_THAT(no_database.err, HasSubstr("CREATE DATABASE"));
  const PostgresSchema elsewhere;
  EXPECT_EQ(exit_at(elsewhere.location()).exit, 3);
  const std::string script = fixture.folder.file("script.json");
  std::ofstream(script) << R"({"responses": [{"text": "Hello."}]})";
  const Said not_made = fixture.run({"run", "--provider", "scripted", "--model", script, "Hello",
                                     "--store", elsewhere.location("migrate=verify")});
  EXPECT_EQ(not_made.exit, 3);
  EXPECT_THAT(not_made.err, HasSubstr("migrate=auto"));
  EXPECT_EQ(fixture.run({"backup", fixture.folder.file("copy.db")}).exit, 2);
  EXPECT_EQ(exit_at("mysql://h/d").exit, 2);
  EXPECT_EQ(exit_at("POSTGRES://h/d").exit, 2);
}

TEST(Doctor, LooksAtAServerBeforeThereIsAStore) {
  CliFixture fixture({"postgres", Home::schema});
  const PostgresSchema elsewhere;
  const Said said = fixture.run({"doctor", "--store", elsewhere.location()});
  EXPECT_THAT(said.out, HasSubstr("no store yet"));
  EXPECT_THAT(said.out, HasSubstr("replication: "));
  EXPECT_EQ(said.exit, fixture.run({"doctor"}).exit);
  EXPECT_FALSE(elsewhere.exists());
  EXPECT_EQ(fixture.run({"doctor", "--store", "missing.db"}).exit, 3);
}

// Others see what a program was started with.
TEST(Passwords, AreRefusedOnTheCommandLine) {
  CliFixture fixture;
  for (const std::string store :
       {"postgres://ann:hunter2@h/d", "postgresql://h/d?user=ann&password=hunter2"}) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"sessions", "--store", store},
                                               {"config", "--store", store},
                                               {"move", store, "--dry-run"},
                                               {"--json", "move", store, "--yes"}}) {
      const Said said = fixture.run(words);
      EXPECT_EQ(said.exit, 2) << said.out;
      EXPECT_THAT(said.err, HasSubstr("~/.pgpass"));
      EXPECT_THAT(said.out + said.err, Not(HasSubstr("hunter2"))) << words.front();
    }
  }
  fixture.environment["PERDURE_STORE"] = "postgres://ann:hunter2@h/d";
  const Said said = fixture.run({"config"});
  EXPECT_EQ(said.exit, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("postgres://ann:***@h/d"));
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
                                               {"move", store, "--yes"},
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
