// A file or folder that may not be written. Root may write anything, so where the tests run
// as root they become nobody for the act itself.

#include <exception>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

constexpr uid_t nobody = 65534;

class AsNobody {
 public:
  AsNobody() : was_(geteuid()) {
    if (was_ == 0 && seteuid(nobody) != 0) throw std::runtime_error("cannot become nobody");
  }
  ~AsNobody() {
    if (was_ == 0 && seteuid(was_) != 0) std::terminate();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  const uid_t was_;
};

// Two folders deep: what is above belongs to the tests' own user.
class ReadOnly : public testing::Test {
 protected:
  ReadOnly() {
    EXPECT_EQ(chmod(outer.path().c_str(), 0755), 0);
    std::filesystem::create_directory(folder);
    set_mode(folder, 0777);
    const AsNobody nobody_else;
    auto store = open_store(path).value();
    EXPECT_TRUE(store->sessions().create({.id = session}));
  }
  ~ReadOnly() override { set_mode(folder, 0777); }

  static void set_mode(const std::string& which, mode_t mode) {
    ASSERT_EQ(chmod(which.c_str(), mode), 0) << which;
  }
  static std::string modes(const std::string& which) {
    struct stat status{};
    return stat(which.c_str(), &status) == 0 ? std::to_string(status.st_size) : "gone";
  }

  void expect_unavailable() {
    const AsNobody nobody_else;
    const auto store = open_store(path);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::unavailable) << store.error().message;
    EXPECT_NE(store.error().message.find(path), std::string::npos) << store.error().message;
  }
  void expect_usable() {
    const AsNobody nobody_else;
    auto store = open_store(path);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_TRUE((*store)->sessions().read(session));
    EXPECT_TRUE((*store)->sessions().create({.id = mint<SessionTag>(random_ids())}));
  }

  const TempFolder outer;
  const std::string folder = outer.file("folder");
  const std::string path = folder + "/store.db";
  const SessionId session = SessionId::parse("s").value();
};

TEST_F(ReadOnly, AFileIsUnavailableAndLeftAsItIs) {
  set_mode(path, 0444);
  const std::string before = modes(path);

  expect_unavailable();

  EXPECT_EQ(modes(path), before);
  EXPECT_EQ(modes(path + "-wal"), "gone");
  set_mode(path, 0644);
  expect_usable();
}

TEST_F(ReadOnly, AFolderIsUnavailableUntilItIsNot) {
  set_mode(folder, 0555);

  expect_unavailable();

  set_mode(folder, 0777);
  expect_usable();
}

TEST_F(ReadOnly, AFolderWithoutTheStoreGetsNone) {
  std::filesystem::remove(path);
  std::filesystem::remove(path + "-lock");
  set_mode(folder, 0555);

  expect_unavailable();

  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(ReadOnly, ALockFileIsUnavailableToo) {
  set_mode(path + "-lock", 0444);

  expect_unavailable();

  set_mode(path + "-lock", 0644);
  expect_usable();
}

TEST_F(ReadOnly, AFolderThatBecomesSoDoesNotStopWhoIsInIt) {
  std::unique_ptr<Store> store;
  {
    const AsNobody nobody_else;
    store = open_store(path).value();
  }
  set_mode(folder, 0555);
  {
    const AsNobody nobody_else;
    const auto created = store->sessions().create({.id = SessionId::parse("t").value()});
    const auto read = store->sessions().read(session);
    EXPECT_TRUE(created) << created.error().message;
    EXPECT_TRUE(read) << read.error().message;
    store.reset();
  }

  set_mode(folder, 0777);
  expect_usable();
}

}  // namespace
}  // namespace perdure
