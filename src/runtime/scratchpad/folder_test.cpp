// The folder on a disk: whole files, no links, one process.

#include "scratchpad/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/scratchpad.hpp"

namespace perdure::scratch {
namespace {

namespace fs = std::filesystem;

void save(const fs::path& path, const std::string& bytes) { std::ofstream(path) << bytes; }

std::optional<ErrorCode> refused_as(const auto& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

class FolderTest : public testing::Test {
 protected:
  TempFolder temp;
  fs::path root = temp.path() / "deep" / "root";
  fs::path path = root / "ses";
  std::unique_ptr<Folder> folder = must(open_folder(root.string(), "ses"));
};

TEST_F(FolderTest, GivesBackWhatWasWritten) {
  must(folder->write("a.txt", std::string("one\0two", 7)));
  must(folder->write("a.txt", "three"));
  EXPECT_EQ(must(folder->read("a.txt")), "three");
  EXPECT_EQ(must(folder->list()).files.size(), 1U);
  must(folder->remove("a.txt"));
  must(folder->remove("a.txt"));
  EXPECT_EQ(must(folder->read("a.txt")), std::nullopt);
}

TEST_F(FolderTest, AReaderSeesAWholeFileOnly) {
  must(folder->write("a.txt", "old"));
  std::ifstream reader(path / "a.txt");
  must(folder->write("a.txt", "new"));
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

TEST_F(FolderTest, IsNotHinderedByWhatADeadProcessLeft) {
  save(path / ".a.txt.new", "half");
  must(folder->write("a.txt", "whole"));
  EXPECT_EQ(must(folder->read("a.txt")), "whole");
  EXPECT_FALSE(fs::exists(path / ".a.txt.new"));
}

TEST_F(FolderTest, FollowsNoLinkToAFile) {
  save(temp.path() / "secret", "secret");
  fs::create_symlink(temp.path() / "secret", path / "a.txt");
  fs::create_symlink(temp.path() / "secret", path / ".b.txt.new");
  EXPECT_EQ(refused_as(folder->read("a.txt")), ErrorCode::invalid_argument);
  must(folder->write("b.txt", "note"));
  std::string seen;
  std::ifstream(temp.path() / "secret") >> seen;
  EXPECT_EQ(seen, "secret");
  EXPECT_FALSE(fs::is_symlink(path / "b.txt"));
}

TEST_F(FolderTest, OfASessionIsNeverALink) {
  fs::create_directory(temp.path() / "elsewhere");
  fs::create_directory_symlink(temp.path() / "elsewhere", root / "linked");
  save(root / "file", "x");
  for (const char* const name : {"linked", "file"}) {
    const auto opened = open_folder(root.string(), name);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(FolderTest, DoesNotWaitForAPipeAndReadsNoFolder) {
  ASSERT_EQ(::mkfifo((path / "pipe.txt").c_str(), 0600), 0);
  fs::create_directory(path / "sub.txt");
  EXPECT_EQ(refused_as(folder->read("pipe.txt")), ErrorCode::invalid_argument);
  EXPECT_EQ(refused_as(folder->read("sub.txt")), ErrorCode::invalid_argument);
  const Listing listing = must(folder->list());
  EXPECT_TRUE(std::ranges::none_of(listing.files, &Listed::is_file));
}

TEST_F(FolderTest, ReadsNoFileBeyondTheLimit) {
  must(folder->write("a.txt", std::string(scratch_value_bytes_max + 1, 'x')));
  const auto read = folder->read("a.txt");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().subject, "too_large");
  must(folder->write("a.txt", std::string(scratch_value_bytes_max, 'x')));
  EXPECT_TRUE(folder->read("a.txt"));
}

TEST_F(FolderTest, IsOneProcessesAtATime) {
  EXPECT_EQ(refused_as(open_folder(root.string(), "ses")), ErrorCode::lease_held);
  folder.reset();
  EXPECT_TRUE(open_folder(root.string(), "ses"));
}

TEST_F(FolderTest, ThatWasMovedOrRemovedSaysSo) {
  fs::rename(path, root / "moved");
  EXPECT_EQ(refused_as(folder->list()), ErrorCode::not_found);
  fs::create_directory(path);
  EXPECT_EQ(refused_as(folder->list()), ErrorCode::not_found);
}

TEST_F(FolderTest, StampsAFileThatChangedBeforeTheListing) {
  must(folder->write("a.txt", "one"));
  const Listing first = must(folder->list());
  must(folder->write("a.txt", "two"));
  const Listing second = must(folder->list());
  EXPECT_NE(first.files.at(0).stamp, second.files.at(0).stamp);
  EXPECT_GE(second.begun_ns, second.files.at(0).stamp.changed_ns);
}

TEST(FolderName, IsAPlainNameAndNoOtherSessions) {
  EXPECT_EQ(folder_name("ses_01-A"), "ses_01-A");
  for (const char* const id : {"..", ".", "a/b", "../up", "a.b", "caf\xc3\xa9", "%41"}) {
    const std::string name = folder_name(id);
    EXPECT_EQ(name.size(), 65U) << id;
    EXPECT_EQ(name.find_first_of("/."), std::string::npos) << id;
  }
  EXPECT_NE(folder_name("a/b"), folder_name("a.b"));
}

}  // namespace
}  // namespace perdure::scratch
