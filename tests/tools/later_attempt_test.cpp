// A program that paid and was killed with its agent: whatever befalls its later attempts, it does not
// pay twice, though the model asks again whenever it is told that the call has failed. Real processes.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/temp_folder.hpp"
#include "tools/fifo.hpp"

namespace perdure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LaterAttempt : public ::testing::Test {
 protected:
  // The bank pays once for one key. The first attempt waits there, having paid or not.
  LaterAttempt() {
    std::filesystem::create_symlink("/bin/sh", interpreter());
    std::ofstream(folder_.file("pay"))
        << "#!" << interpreter() << "\n"
        << "[ -e later ] && . ./later\n"
        << "[ -e unpaid ] && { echo $$ > started; read go < go; }\n"
        << "grep -qsx $PERDURE_KEY bank || echo $PERDURE_KEY >> bank\n"
        << "[ -e first ] && { echo $$ > started; read go < go; }\n"
        << "echo paid\n";
    std::filesystem::permissions(folder_.file("pay"), std::filesystem::perms::owner_all);
  }

  [[nodiscard]] std::string interpreter() const { return folder_.file("interpreter"); }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_.file(file)) << text;
  }
  /// What the calls of the session are when the process has ended.
  std::vector<std::string> play(const std::string& later) {
    ChildProcess process("paying_session", {folder_.path().string(), later});
    auto lines = process.read_to_end();
    EXPECT_TRUE(process.wait().is_clean());
    return lines;
  }
  /// Killed in the middle of its first attempt, `first` having paid, `unpaid` not.
  void kill_in(const std::string& where) {
    const Fifo started(folder_.file("started"));
    go_.emplace(folder_.file("go"));
    write(where, "");
    ChildProcess process("paying_session", {folder_.path().string(), "nothing"});
    ASSERT_GT(std::atoi(started.read_line().c_str()), 1);
    process.kill();
    ASSERT_TRUE(process.wait().was_killed());
    std::filesystem::remove(folder_.file(where));
  }
  [[nodiscard]] std::vector<std::string> bank() const {
    std::ifstream file(folder_.file("bank"));
    return {std::istream_iterator<std::string>(file), {}};
  }

  const TempFolder folder_;
  std::optional<Fifo> go_;  ///< To the end: what the killed process left must not go on and pay.
};

TEST_F(LaterAttempt, ThatCannotBeStartedForWantOfItsInterpreterLeavesTheCallInDoubt) {
  kill_in("first");
  std::filesystem::remove(interpreter());
  EXPECT_THAT(play("nothing"), ElementsAre(StartsWith("in_doubt 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, ThatCannotBeStartedForWantOfDescriptorsLeavesTheCallInDoubt) {
  kill_in("first");
  EXPECT_THAT(play("descriptors"),
              ElementsAre(AllOf(StartsWith("in_doubt 3 "), HasSubstr("an earlier one may have"))));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, ThatDidNothingInItsRunLeavesTheCallInDoubt) {
  kill_in("first");
  write("later", "[ $PERDURE_ATTEMPT = 1 ] || exit 75\n");
  EXPECT_THAT(play("nothing"), ElementsAre(StartsWith("in_doubt 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, ThatSaysNothingOfUseLeavesTheCallInDoubt) {
  kill_in("first");
  write("later", "[ $PERDURE_ATTEMPT = 1 ] || exit 1\n");
  EXPECT_THAT(play("nothing"), ElementsAre(StartsWith("in_doubt 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, WhoseTimeIsOverLeavesTheCallInDoubt) {
  kill_in("first");
  write("later", "while [ $PERDURE_ATTEMPT != 1 ]; do :; done\n");
  EXPECT_THAT(play("time"), ElementsAre(StartsWith("in_doubt 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, ThatWorksAfterOneThatDidNothingHasTheSameKey) {
  kill_in("first");
  write("later", "[ $PERDURE_ATTEMPT = 2 ] && exit 75\n");
  EXPECT_THAT(play("nothing"), ElementsAre(StartsWith("succeeded 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, ThatSpeaksForTheOperationEndsTheCallAndTheModelMayAskAgain) {
  kill_in("unpaid");
  write("later", "[ $PERDURE_ATTEMPT = 2 ] && { echo 'no such account' >&2; exit 76; }\n");
  EXPECT_THAT(play("nothing"),
              ElementsAre(AllOf(StartsWith("failed 2 "), HasSubstr("no such account")),
                          StartsWith("succeeded 1 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

TEST_F(LaterAttempt, OfACallInDoubtIsMadeOnceItCanBeStarted) {
  kill_in("first");
  write("later", "[ $PERDURE_ATTEMPT = 2 ] && kill -9 $$\n");
  EXPECT_THAT(play("nothing"), ElementsAre(StartsWith("succeeded 3 ")));
  EXPECT_THAT(bank(), SizeIs(1));
}

}  // namespace
}  // namespace perdure
