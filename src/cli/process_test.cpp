// The program itself, as a process: streams that end, stores that cannot be opened, exit codes.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "fixture.hpp"

namespace perdure::cli {
namespace {

// Runs a line of sh with `perdure` in it; what it prints, and how it ends.
Said shell(const std::string& store, const std::string& line) {
  const std::string command = "perdure() { '" PERDURE_PROGRAM
                              "' \"$@\"; }; export PERDURE_STORE='" +
                              store + "' HOME=/nonexistent; " + line;
  FILE* pipe = ::popen(("bash -c '" +
                        [&] {
                          std::string quoted;
                          for (const char letter : command)
                            quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
                          return quoted;
                        }() +
                        "' 2>&1 </dev/null")
                           .c_str(),
                       "r");
  Said said;
  std::array<char, 4096> room{};
  while (const std::size_t size = std::fread(room.data(), 1, room.size(), pipe))
    said.out.append(room.data(), size);
  const int status = ::pclose(pipe);
  said.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() { fixture.fill(); }
  Said shell(const std::string& line) { return cli::shell(fixture.location(), line); }

  CliFixture fixture;
};

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

TEST_F(ProcessTest, AStoreThatIsNotThereIsNotMade) {
  const TempFolder folder;
  const Said said = cli::shell(folder.file("none.db"), "perdure sessions");
  EXPECT_EQ(said.exit, 3);
  EXPECT_TRUE(said.out.contains("there is no store at")) << said.out;
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST_F(ProcessTest, AFileThatIsNoStoreIsRefused) {
  const TempFolder folder;
  std::ofstream(folder.file("letter.txt")) << std::string(9000, 'x');
  EXPECT_EQ(cli::shell(folder.file("letter.txt"), "perdure sessions").exit, 6);
}

}  // namespace
}  // namespace perdure::cli
