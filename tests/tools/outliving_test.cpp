// A program that outlives the killed process that started it, through a real session.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "doubles/temp_folder.hpp"
#include "tools/fifo.hpp"

namespace perdure {
namespace {

std::string program_path(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

pid_t start_session(const std::string& folder) {
  std::string program = program_path("exec_session");
  std::string argument = folder;
  char* const argv[] = {program.data(), argument.data(),
                        nullptr};  // NOLINT: as posix_spawn has it.
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ), 0);
  return pid;
}

std::string bank(const TempFolder& folder) {
  std::ifstream file(folder.file("bank"));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutlivingProgram, IsEndedBeforeItsCallIsVerifiedAndRunAgain) {
  const TempFolder folder;
  const Fifo started(folder.file("started"));
  const Fifo go(folder.file("go"));

  const pid_t first = start_session(folder.path().string());
  const pid_t orphan = std::atoi(started.read_line().c_str());
  ASSERT_GT(orphan, 1);
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  ASSERT_FALSE(has_ended(orphan, 0)) << "it outlives its parent";

  const pid_t second = start_session(folder.path().string());
  const pid_t again = std::atoi(started.read_line().c_str());
  EXPECT_TRUE(has_ended(orphan, 0)) << "it must be gone before the program runs again";
  EXPECT_NE(again, orphan);
  go.write_line("go");
  go.write_line("go");
  int status = 0;
  ::waitpid(second, &status, 0);
  EXPECT_EQ(status, 0);

  const std::string keys = bank(folder);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), '\n'), 1) << keys;
}

TEST(OutlivingProgram, ThatIsDoneIsFoundByVerify) {
  const TempFolder folder;
  const Fifo started(folder.file("started"));
  const Fifo go(folder.file("go"));

  const pid_t first = start_session(folder.path().string());
  const pid_t orphan = std::atoi(started.read_line().c_str());
  ASSERT_GT(orphan, 1);
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  go.write_line("go");
  ASSERT_TRUE(has_ended(orphan, 20'000));

  int status = 0;
  ::waitpid(start_session(folder.path().string()), &status, 0);
  EXPECT_EQ(status, 0);
  const std::string keys = bank(folder);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), '\n'), 1) << keys;
}

}  // namespace
}  // namespace perdure
