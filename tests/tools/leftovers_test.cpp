// What is left of a program is found by its record and its mark, and nobody else is harmed.

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <utility>

#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "tools/fifo.hpp"
#include "tools/process/program.hpp"

namespace perdure {
namespace {

class LeftoversTest : public ::testing::Test {
 protected:
  /// A process that sleeps, with a group and an environment of its own.
  Gated sleeper(const std::string& variable) {
    const Fifo started(folder_.file("fifo" + std::to_string(++count_)));
    auto gated =
        spawn_gated({.argv = {"/bin/sh", "-c", "echo > " + started.path() + "; exec sleep 1000"},
                     .environment = {variable}});
    EXPECT_TRUE(open_gate(*gated));
    (void)started.read_line();
    return *std::move(gated);
  }
  static void end(Gated& gated) {
    ::kill(gated.pid, SIGKILL);
    ::waitpid(gated.pid, nullptr, 0);
  }
  static bool is_alive(const Gated& gated) { return ::waitpid(gated.pid, nullptr, WNOHANG) == 0; }

  TempFolder folder_;
  const std::string mark_ = folder_.path().filename().string();
  Leftovers leftovers_{folder_.file("state"), mark_};
  int count_ = 0;
};

TEST_F(LeftoversTest, AreEndedByTheirRecord) {
  Gated left = sleeper("OTHER=1");
  ASSERT_TRUE(leftovers_.record(*find_process(left.pid)));
  EXPECT_TRUE(leftovers_.end());
  EXPECT_TRUE(has_ended(left.pid, 0));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("state")));
  end(left);
}

TEST_F(LeftoversTest, AreEndedByTheirMarkWithoutARecord) {
  Gated left = sleeper("PERDURE_MARK=" + mark_);
  Gated other = sleeper("PERDURE_MARK=" + mark_ + "2");
  EXPECT_TRUE(leftovers_.end());
  EXPECT_TRUE(has_ended(left.pid, 0));
  EXPECT_TRUE(is_alive(other));
  end(left);
  end(other);
}

TEST_F(LeftoversTest, ANumberThatBelongsToAnotherByNowHarmsNobody) {
  Gated other = sleeper("OTHER=1");
  auto name = *find_process(other.pid);
  name.started = "1";
  ASSERT_TRUE(leftovers_.record(name));
  EXPECT_TRUE(leftovers_.end());
  EXPECT_TRUE(is_alive(other));
  end(other);
}

TEST_F(LeftoversTest, ARecordOfAnEarlierStartOfTheMachineHarmsNobody) {
  Gated other = sleeper("OTHER=1");
  auto name = *find_process(other.pid);
  name.kernel = "another " + name.kernel.substr(name.kernel.find(' ') + 1);
  ASSERT_TRUE(leftovers_.record(name));
  EXPECT_TRUE(leftovers_.end());
  EXPECT_TRUE(is_alive(other));
  end(other);
}

TEST_F(LeftoversTest, WhatIsWhereNobodyCanLookIsNotSaidToBeGone) {
  auto name = *find_process(::getpid());
  name.kernel = name.kernel.substr(0, name.kernel.find(' ')) + " pid:[1]";
  ASSERT_TRUE(leftovers_.record(name));
  EXPECT_FALSE(leftovers_.end());
  std::filesystem::remove(folder_.file("state/" + mark_));
  std::filesystem::create_symlink("7 8", folder_.file("state/" + mark_));
  EXPECT_FALSE(leftovers_.end());
}

TEST_F(LeftoversTest, AProgramWhoseGateClosesNeverStarts) {
  auto gated = spawn_gated({.argv = {"/bin/touch", folder_.file("ran")}});
  ASSERT_TRUE(gated);
  gated->gate.close();
  int status = 0;
  ::waitpid(gated->pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ran")));
}

}  // namespace
}  // namespace perdure
