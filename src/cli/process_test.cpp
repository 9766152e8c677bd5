// The program itself, as a process: streams that end, terminals, exit codes; and its verbs on
// PostgreSQL.

#include <algorithm>
#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "command/command.hpp"
#include "doubles/must.hpp"
#include "doubles/places.hpp"
#include "doubles/temp_folder.hpp"
#include "fixture.hpp"
#include "shell_fixture.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

class ProcessTest : public ShellFixture {};

TEST_F(ProcessTest, AReaderThatHangsUpEndsItQuietly) {
  const Said said = shell(
      "for i in 1 2 3 4 5; do perdure -q sessions --all; perdure help; done | head -1; echo "
      "${PIPESTATUS[0]}");
  EXPECT_TRUE(said.out.starts_with("STATE")) << said.out;
  EXPECT_TRUE(said.out.ends_with("\n0\n")) << said.out;
  EXPECT_FALSE(said.out.contains("perdure:")) << said.out;
}

TEST_F(ProcessTest, OutputThatCannotBeWrittenIsAnError) {
  const Said said = shell("perdure sessions > /dev/full; echo $?");
  EXPECT_TRUE(said.out.contains("cannot be written")) << said.out;
  EXPECT_TRUE(said.out.ends_with("1\n")) << said.out;
}

TEST_F(ProcessTest, AWatchEndsWithItsReaderThoughNothingChanges) {
  const Said said = shell("timeout 600 " + perdure_program() +
                          " sessions --watch | head -1; "
                          "echo ended with ${PIPESTATUS[0]}");
  EXPECT_TRUE(said.out.ends_with("ended with 0\n")) << said.out;
}

TEST_F(ProcessTest, ABundleThatCannotBeWrittenIsOneError) {
  const Said said = shell("perdure export ses_7k -o - > /dev/full");
  EXPECT_EQ(said.exit, 1);
  EXPECT_EQ(said.out,
            "perdure: not all of it could be written to stdout: No space left on device\n"
            "More: perdure help unavailable\n");
}

TEST_F(ProcessTest, NothingButDataIsOnStdout) {
  EXPECT_EQ(shell("perdure sessions nobody 2>/dev/null").out, "");
  EXPECT_EQ(shell("perdure -q sessions nobody").out, "");
  EXPECT_EQ(shell("perdure show nobody 2>/dev/null; echo $?").out, "3\n");
}

TEST_F(ProcessTest, ColoursAreForTerminalsUnlessTheyAreForced) {
  EXPECT_FALSE(shell("perdure sessions").out.contains('\x1b'));
  EXPECT_TRUE(shell("CLICOLOR_FORCE=1 perdure sessions").out.contains('\x1b'));
  EXPECT_FALSE(shell("CLICOLOR_FORCE=1 NO_COLOR=1 perdure sessions").out.contains('\x1b'));
  EXPECT_TRUE(shell("NO_COLOR=1 perdure sessions --color always").out.contains('\x1b'));
}

TEST_F(ProcessTest, ASessionInUseIsLeftAlone) {
  const Said said = shell("perdure delete ses_9pq4 --yes");
  EXPECT_EQ(said.exit, 5);
  EXPECT_TRUE(said.out.contains("is held by")) << said.out;
  EXPECT_EQ(shell("perdure show ses_9pq4").exit, 0);
}

TEST_F(ProcessTest, NobodyIsAskedWhereNobodyCanAnswer) {
  EXPECT_EQ(shell("perdure delete ses_01d0").exit, 9);
  EXPECT_EQ(shell("echo y | perdure delete ses_01d0; exit ${PIPESTATUS[1]}").exit, 9);
  EXPECT_EQ(shell("perdure show ses_01d0").exit, 0);
  EXPECT_EQ(shell("perdure delete ses_01d0 --yes").exit, 0);
  EXPECT_EQ(shell("perdure show ses_01d0").exit, 3);
}

TEST_F(ProcessTest, AFollowedLogShowsWhatIsAppended) {
  // The reader ends with the entry it waits for; the program, with its reader.
  FILE* pipe = ::popen(("PERDURE_STORE='" + fixture.location() + "' timeout 600 '" +
                        perdure_program() + "' log --follow ses_9pq4 --channel notes | head -1")
                           .c_str(),
                       "r");
  must(fixture.running().append("notes", Body::from_text("\"hello\"")));
  std::array<char, 200> room{};
  ASSERT_NE(std::fgets(room.data(), room.size(), pipe), nullptr);
  EXPECT_TRUE(std::string(room.data()).contains("hello")) << room.data();
  must(fixture.running().append("notes", Body::from_text("\"more\"")));
  EXPECT_EQ(::pclose(pipe), 0);
}

TEST_F(ProcessTest, ManPagesAreReadByMan) {
  const TempFolder folder;
  const Said said =
      shell("perdure reference man " + folder.path().string() + " && cd " + folder.path().string() +
            " && for page in *.1; do man --warnings -l $page 2>&1 >/dev/null; done; ls | wc -l");
  const auto pages = std::ranges::count(commands(), false, &Command::is_hidden) + 1;
  EXPECT_EQ(said.out, std::to_string(pages) + "\n");
}

class OnPostgres : public testing::Test {
 protected:
  OnPostgres() { fixture.fill(); }
  CliFixture fixture{{"postgres", Home::schema}};
};

TEST_F(OnPostgres, VerbsLookDecideAndForget) {
  EXPECT_TRUE(fixture.run({"sessions"}).out.contains("needs attention"));
  EXPECT_TRUE(fixture.run({"timeline", "ses_7k2m"}).out.contains("settled by ana"));
  EXPECT_TRUE(fixture.run({"diff", "ses_7k2m@1", "ses_7k2m@2"}).out.contains("messages +4"));
  EXPECT_TRUE(fixture.run({"fork", "ses_7k2m@2.0"}).out.contains("pay.refund"));
  EXPECT_TRUE(fixture.run({"pending"}).out.contains("ses_2b7x00:6"));
  EXPECT_EQ(
      fixture
          .run({"resolve", "ses_2b7x", "--as", "succeeded", "--result", "rf_1", "--reason", "seen"})
          .exit,
      0);
  EXPECT_FALSE(fixture.run({"pending"}).out.contains("ses_2b7x00:6"));
  EXPECT_EQ(fixture.run({"cancel", "ses_5d0c"}).exit, 0);
  EXPECT_TRUE(fixture.run({"sessions", "state:cancelled"}).out.contains("ses_5d0c00"));
  EXPECT_EQ(fixture.run({"delete", "ses_01d0", "--yes"}).exit, 0);
  EXPECT_EQ(fixture.run({"check"}).exit, 0);
  EXPECT_EQ(fixture.run({"show", "ses_01d0"}).exit, 3);
  EXPECT_TRUE(fixture.run({"--json", "doctor"}).out.contains("\"backend\":\"postgres\""));
}

}  // namespace
}  // namespace perdure::cli
