// A process that is stopped while it has the turn to write: others do not wait for ever,
// and go on when it does or is killed.

#include <csignal>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

// A child that takes the turn, and is stopped.
class StoppedChild {
 public:
  explicit StoppedChild(const std::string& lock_path) : pid_(fork()) {
    if (pid_ == 0) {
      auto turn = sqlite::LockFile::open(lock_path);
      if (!turn || !turn->take_turn(Duration{0})) _exit(1);
      raise(SIGSTOP);
      turn->end_turn();
      _exit(0);
    }
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
    stopped_ = WIFSTOPPED(status);
  }
  ~StoppedChild() { end(SIGKILL); }
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;

  [[nodiscard]] bool is_stopped() const { return stopped_; }
  /// Lets it go on (SIGCONT) or not (SIGKILL), and waits for its end.
  void end(int signal) {
    if (ended_) return;
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

 private:
  const pid_t pid_;
  bool stopped_ = false;
  bool ended_ = false;
};

class Stopped : public testing::TestWithParam<int> {
 protected:
  Stopped() {
    OpenOptions options;
    options.write_wait = Duration{20};
    store = open_store(path, options).value();
    EXPECT_TRUE(store->sessions().create({.id = name("before")}));
  }
  static SessionId name(const char* text) { return SessionId::parse(text).value(); }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  std::unique_ptr<Store> store;
};

TEST_P(Stopped, AWriterDelaysOthersNoLongerThanTheyAllow) {
  StoppedChild child(path + "-lock");
  ASSERT_TRUE(child.is_stopped());

  const auto refused = store->sessions().create({.id = name("during")});
  const auto read = store->sessions().read(name("before"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable) << refused.error().message;
  EXPECT_TRUE(read);

  child.end(GetParam());
  EXPECT_FALSE(store->sessions().read(name("during")));
  EXPECT_TRUE(store->sessions().create({.id = name("during")}));
}

INSTANTIATE_TEST_SUITE_P(Then, Stopped, testing::Values(SIGCONT, SIGKILL), [](const auto& that) {
  return that.param == SIGCONT ? "goes_on" : "is_killed";
});

}  // namespace
}  // namespace perdure
