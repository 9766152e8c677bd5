// The process has no file descriptor left: for opening a store, and for reading and writing
// with an open one.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "crash/stored_file.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

// Takes all descriptors but a few, and gives them back with its end.
class Hog {
 public:
  explicit Hog(std::size_t left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    struct rlimit low = before_;
    low.rlim_cur = 128;
    if (setrlimit(RLIMIT_NOFILE, &low) != 0) throw std::runtime_error("cannot set the limit");
    for (int taken = open(); taken >= 0; taken = open()) taken_.push_back(taken);
    give(left);
  }
  ~Hog() {
    give(taken_.size());
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;

 private:
  static int open() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
  void give(std::size_t count) {
    for (; count > 0 && !taken_.empty(); --count) {
      close(taken_.back());
      taken_.pop_back();
    }
  }

  struct rlimit before_{};
  std::vector<int> taken_;
};

class Descriptors : public testing::Test {
 protected:
  static void expect_unavailable(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::unavailable) << error.message;
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  const SessionId session = SessionId::parse("s").value();
};

// Each number of free ones ends the opening somewhere else.
TEST_F(Descriptors, RunningOutWhileOpeningIsUnavailable) {
  int failures = 0;
  bool opened = false;
  for (std::size_t left = 0; !opened && left < 30; ++left) {
    const TempFolder fresh = TempFolder::in_memory();
    {
      const Hog hog(left);
      auto store = open_store(fresh.file("store.db"));
      opened = store.has_value();
      if (!store) expect_unavailable(store.error());
      failures += opened ? 0 : 1;
    }
    auto store = open_store(fresh.file("store.db"));
    ASSERT_TRUE(store) << left << ": " << store.error().message;
    EXPECT_TRUE((*store)->sessions().create({.id = session}));
    store->reset();
    EXPECT_EQ(find_damage(fresh.file("store.db")), "");
  }
  EXPECT_TRUE(opened);
  EXPECT_GE(failures, 3);
}

TEST_F(Descriptors, RunningOutLaterNeitherLosesNorInventsAnything) {
  auto store = open_store(path).value();
  std::vector<SessionId> made;
  for (std::size_t left = 0; left < 4; ++left) {
    const Hog hog(left);
    const auto id = SessionId::parse(fmt::format("s{}", left)).value();
    const auto created = store->sessions().create({.id = id});
    if (created) made.push_back(id);
    if (!created) expect_unavailable(created.error());
    // A reader's connection is opened when it is first needed.
    const auto read = store->sessions().read(session);
    ASSERT_FALSE(read);
    const bool said =
        read.error().code == ErrorCode::unavailable || read.error().code == ErrorCode::not_found;
    EXPECT_TRUE(said) << read.error().message;
  }

  ASSERT_TRUE(store->sessions().create({.id = session}));
  EXPECT_TRUE(store->sessions().read(session));
  EXPECT_EQ(store->sessions().list({})->sessions.size(), made.size() + 1);
  store.reset();
  EXPECT_EQ(find_damage(path), "");
}

}  // namespace
}  // namespace perdure
