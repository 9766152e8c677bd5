// The folder on a disk: whole files, no links, nobody else's, one process.

#include "session/scratch_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

void save(const fs::path& path, const std::string& bytes) { std::ofstream(path) << bytes; }

/// Why it was refused; empty: it was not.
std::string refusal(const auto& result) {
  if (result) return {};
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  return result.error().message;
}

class ScratchFolderTest : public testing::Test {
 protected:
  [[nodiscard]] Result<std::unique_ptr<ScratchFolder>> open(
      const std::string& session = "ses") const {
    return ScratchFolder::open(root.string(), session, true);
  }
  void replace(const std::string& key, const std::string& text) {
    const auto file = folder->read(key);
    must(folder->replace(key, file ? &*file : nullptr, text));
  }

  TempFolder temp;
  fs::path root = temp.path() / "deep" / "root";
  fs::path path = root / "ses";
  std::unique_ptr<ScratchFolder> folder = must(open());
};

TEST_F(ScratchFolderTest, GivesBackWhatWasWritten) {
  replace("a", "one");
  replace("a", "three");
  EXPECT_EQ(must(folder->read("a")).text, "three");
  EXPECT_EQ(must(folder->keys()), std::vector<std::string>{"a"});
  must(folder->remove("a", must(folder->read("a"))));
  EXPECT_TRUE(must(folder->keys()).empty());
}

TEST_F(ScratchFolderTest, IsForItsOwnerAlone) {
  replace("a", "one");
  EXPECT_EQ(fs::status(root).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(path / "a.txt").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ScratchFolderTest, IsNotMadeToBeRead) {
  EXPECT_EQ(must(ScratchFolder::open(root.string(), "other", false)), nullptr);
  EXPECT_EQ(must(ScratchFolder::open(temp.file("none"), "other", false)), nullptr);
  EXPECT_FALSE(fs::exists(root / "other"));
  EXPECT_FALSE(fs::exists(temp.file("none")));
}

TEST_F(ScratchFolderTest, AReaderSeesAWholeFileOnly) {
  replace("a", "old");
  std::ifstream reader(path / "a.txt");
  replace("a", "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

// Large enough that it grows within most reads.
TEST_F(ScratchFolderTest, ReadsAFileThatGrowsAsFarAsItIs) {
  const std::string beginning(std::size_t{1} << 20U, 'a');
  save(path / "log.txt", beginning);
  const std::jthread appending([&](const std::stop_token& stop) {
    std::ofstream log(path / "log.txt", std::ios::app);
    for (int i = 0; i < 1'000'000 && !stop.stop_requested(); ++i) log << "b" << std::flush;
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(must(folder->read("log")).text.starts_with(beginning));
  }
}

TEST_F(ScratchFolderTest, IsNotHinderedByWhatADeadProcessLeft) {
  save(path / ".a.txt.new", "half");
  replace("a", "whole");
  EXPECT_EQ(must(folder->read("a")).text, "whole");
  EXPECT_FALSE(fs::exists(path / ".a.txt.new"));
}

TEST_F(ScratchFolderTest, LeavesAFileThatChangedSinceItWasRead) {
  replace("a", "one");
  const auto seen = must(folder->read("a"));
  save(path / "a.txt", "edited");
  save(path / "b.txt", "new");
  EXPECT_NE(refusal(folder->replace("a", &seen, "two")), "");
  EXPECT_NE(refusal(folder->remove("a", seen)), "");
  EXPECT_NE(refusal(folder->replace("b", nullptr, "two")), "");
  EXPECT_EQ(must(folder->read("a")).text, "edited");
  EXPECT_EQ(must(folder->read("b")).text, "new");
}

TEST_F(ScratchFolderTest, FollowsNoLinkToAFile) {
  save(temp.path() / "secret", "secret");
  fs::create_symlink(temp.path() / "secret", path / "a.txt");
  fs::create_symlink(temp.path() / "secret", path / ".b.txt.new");
  EXPECT_NE(refusal(folder->read("a")), "");
  replace("b", "note");
  std::string seen;
  std::ifstream(temp.path() / "secret") >> seen;
  EXPECT_EQ(seen, "secret");
  EXPECT_FALSE(fs::is_symlink(path / "b.txt"));
}

TEST_F(ScratchFolderTest, OfASessionIsNeverALink) {
  fs::create_directory(temp.path() / "elsewhere");
  fs::create_directory_symlink(temp.path() / "elsewhere", root / "linked");
  save(root / "file", "x");
  for (const char* const name : {"linked", "file"}) {
    EXPECT_NE(refusal(open(name)), "") << name;
    EXPECT_NE(refusal(ScratchFolder::open(root.string(), name, false)), "") << name;
  }
  EXPECT_TRUE(fs::is_empty(temp.path() / "elsewhere"));
}

TEST_F(ScratchFolderTest, OfAnotherUserIsRefused) {
  // Whoever is not root has none of its folders; root can make another's.
  const std::string theirs = temp.file("theirs");
  if (::geteuid() == 0) {
    fs::create_directory(theirs);
    ASSERT_EQ(::chown(theirs.c_str(), 1, 1), 0);
  }
  const std::string place = ::geteuid() == 0 ? theirs : "/usr";
  EXPECT_NE(refusal(ScratchFolder::open(place, "ses", true)).find("another user"),
            std::string::npos);
  EXPECT_NE(refusal(ScratchFolder::open(place, "ses", false)).find("another user"),
            std::string::npos);
}

TEST_F(ScratchFolderTest, ThatOthersMayWriteIsRefused) {
  folder.reset();
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  EXPECT_NE(refusal(open()), "");
  ASSERT_EQ(::chmod(path.c_str(), 0770), 0);
  EXPECT_EQ(refusal(open()), "") << "by our own group";
  ASSERT_EQ(::chmod(root.c_str(), 01777), 0);
  EXPECT_NE(refusal(open()), "");
}

TEST_F(ScratchFolderTest, DoesNotWaitForAPipeAndReadsNoFolder) {
  ASSERT_EQ(::mkfifo((path / "pipe.txt").c_str(), 0600), 0);
  fs::create_directory(path / "sub.txt");
  EXPECT_NE(refusal(folder->read("pipe")), "");
  EXPECT_NE(refusal(folder->read("sub")), "");
}

TEST_F(ScratchFolderTest, ReadsNoFileThatIsNoNote) {
  save(path / "long.txt", std::string(scratch_value_bytes_max + 1, 'x'));
  save(path / "bytes.txt", "\xff");
  save(path / "most.txt", std::string(scratch_value_bytes_max, 'x'));
  EXPECT_NE(refusal(folder->read("long")), "");
  EXPECT_NE(refusal(folder->read("bytes")), "");
  EXPECT_TRUE(folder->read("most"));
}

TEST_F(ScratchFolderTest, NamesOnlyNotes) {
  for (const char* const name : {"a.txt", ".a.txt.swp", "b.txt~", "c.md", ".txt", "d.e.txt"}) {
    save(path / name, "x");
  }
  EXPECT_EQ(must(folder->keys()), std::vector<std::string>{"a"});
}

TEST_F(ScratchFolderTest, IsOneProcessesAtATime) {
  EXPECT_NE(refusal(open()).find("in use"), std::string::npos);
  folder.reset();
  EXPECT_TRUE(open());
}

TEST_F(ScratchFolderTest, ThatWasMovedIsNotLookedForByItsPath) {
  fs::rename(path, root / "moved");
  fs::create_directory_symlink(temp.path(), path);
  replace("a", "note");
  EXPECT_TRUE(fs::exists(root / "moved" / "a.txt"));
  EXPECT_FALSE(fs::exists(temp.path() / "a.txt"));
}

TEST(ScratchFolderName, IsAPlainNameAndNoOtherSessions) {
  EXPECT_EQ(scratch_folder_name("ses_01-A"), "ses_01-A");
  for (const char* const id : {"..", ".", "a/b", "../up", "a.b", "caf\xc3\xa9", "%41"}) {
    const std::string name = scratch_folder_name(id);
    EXPECT_EQ(name.size(), 65U) << id;
    EXPECT_EQ(name.find_first_of("/."), std::string::npos) << id;
  }
  EXPECT_NE(scratch_folder_name("a/b"), scratch_folder_name("a.b"));
}

}  // namespace
}  // namespace perdure
