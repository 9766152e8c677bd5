// Who may read what a store's files say: whatever the umask is.

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>
#include <sys/stat.h>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

class Rights : public testing::Test {
 protected:
  Rights() : before_(::umask(022)) {}
  ~Rights() override { ::umask(before_); }

  std::unique_ptr<Store> open() {
    auto store = must(open_store(path));
    must(store->sessions().create({.id = mint<SessionTag>(random_ids())}));
    return store;
  }
  mode_t of(const std::string& end) {
    struct stat status{};
    return ::stat((path + end).c_str(), &status) == 0 ? status.st_mode & 0777U : 0;
  }
  static Remark remark_of(Store& store) {
    for (const Remark& remark : must(store.doctor())) {
      if (remark.topic == "rights") return remark;
    }
    return {};
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");

 private:
  const mode_t before_;
};

TEST_F(Rights, OfANewStoreAndOfAllThatIsMadeOfItAreItsOwnersAlone) {
  const auto store = open();
  must(store->upkeep().backup(path + ".backup"));
  must(export_sessions(*store, path + ".bundle"));
  must(salvage_store(path, path + ".salvaged"));

  for (const std::string end : {"", "-wal", "-shm", "-lock", ".backup", ".bundle", ".salvaged"}) {
    EXPECT_EQ(of(end), 0600U) << end;
  }
  EXPECT_EQ(remark_of(*store).gravity, Gravity::fine);
}

TEST_F(Rights, OfAStoreThatIsThereStayAndTheFilesBesideItFollow) {
  open().reset();
  fs::remove(path + "-lock");
  ASSERT_EQ(::chmod(path.c_str(), 0660), 0);

  const auto store = open();

  for (const std::string end : {"", "-wal", "-shm", "-lock"}) EXPECT_EQ(of(end), 0660U) << end;
  const Remark remark = remark_of(*store);
  EXPECT_EQ(remark.gravity, Gravity::warning);
  EXPECT_THAT(remark.what, testing::HasSubstr("group"));
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(remark_of(*store).what, testing::HasSubstr("everybody"));
}

// Whoever may write to the folder could have us write to any file of ours.
TEST_F(Rights, NoFileBesideAStoreIsOpenedThroughALink) {
  const std::string precious = folder.file("precious");
  const auto content = [&] {
    std::ifstream file(precious);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const bool was_there : {false, true}) {
    for (const std::string end : {"-lock", "-wal", "-shm"}) {
      for (const std::string left : {"", "-wal", "-shm", "-lock"}) fs::remove(path + left);
      if (was_there) open().reset();
      fs::remove(path + end);
      std::ofstream(precious) << "kept";
      fs::create_symlink(precious, path + end);
      const auto opened = open_store(path);
      ASSERT_FALSE(opened) << end;
      EXPECT_EQ(content(), "kept") << end;
      if (end == "-lock") {
        EXPECT_THAT(opened.error().message, testing::HasSubstr("-lock is a link"));
      }
      fs::remove(path + end);
    }
  }
  const auto store = open();
  for (const std::string made : {".backup", ".bundle", ".salvaged"}) {
    fs::create_symlink(precious, path + made);
  }
  EXPECT_FALSE(store->upkeep().backup(path + ".backup"));
  EXPECT_FALSE(export_sessions(*store, path + ".bundle"));
  EXPECT_FALSE(salvage_store(path, path + ".salvaged"));
  EXPECT_EQ(content(), "kept");
}

}  // namespace
}  // namespace perdure
