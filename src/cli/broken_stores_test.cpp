// Stores that are not there, not ours, newer, damaged or locked away: one clear message, its exit
// code, nothing lost.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/places.hpp"
#include "doubles/temp_folder.hpp"
#include "fixture.hpp"
#include "shell_fixture.hpp"

namespace perdure::cli {
namespace {

class BrokenStores : public ShellFixture {};

TEST_F(BrokenStores, AStoreThatIsNotThereIsNotMade) {
  const TempFolder folder;
  const Said said = cli::shell(folder.file("none.db"), "perdure sessions");
  EXPECT_EQ(said.exit, 3);
  EXPECT_TRUE(said.out.contains("there is no store at")) << said.out;
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST_F(BrokenStores, AFileThatIsNoStoreIsRefused) {
  const TempFolder folder;
  std::ofstream(folder.file("letter.txt")) << std::string(9000, 'x');
  const std::string letter = folder.file("letter.txt");
  const std::vector<std::string> verbs = {"sessions", "check", "backup " + folder.file("b.db"),
                                          "salvage " + letter + " " + folder.file("s.db"),
                                          "move " + folder.file("c.db") + " --yes"};
  for (const std::string& verb : verbs) {
    EXPECT_EQ(cli::shell(letter, "perdure " + verb).exit, 6) << verb;
  }
  EXPECT_EQ(shell("perdure move " + letter + " ses_7k --yes").exit, 6);
  std::string left;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    left += file.path().filename().string();
  EXPECT_EQ(left, "letter.txt");
}

// A copy of the store that nobody has open.
std::string copied_store(CliFixture& fixture, const TempFolder& folder) {
  must(fixture.store().upkeep().backup(folder.file("copy.db")));
  return folder.file("copy.db");
}

TEST_F(BrokenStores, ANewerFormatIsRefusedAndUntouched) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  {
    // SQLite keeps a database's user_version at byte 60 of its file.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.write("\0\0\x7f\xff", 4);
  }
  const auto before = std::filesystem::last_write_time(path);
  const Said said = cli::shell(path, "perdure sessions");
  EXPECT_EQ(said.exit, 10) << said.out;
  EXPECT_TRUE(said.out.starts_with("perdure: ")) << said.out;
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST_F(BrokenStores, AStoreWhoseFileIsGoneIsNotBegunAnew) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  ASSERT_EQ(cli::shell(path, "perdure check").exit, 0);
  std::filesystem::remove(path);
  for (const std::string verb : {"sessions", "check", "doctor"}) {
    const Said said = cli::shell(path, "perdure " + verb);
    EXPECT_EQ(said.exit, 6) << verb << said.out;
    EXPECT_TRUE(said.out.contains("is gone, but " + path + "-lock is left")) << said.out;
  }
  EXPECT_EQ(shell("perdure move " + path + " ses_7k --yes").exit, 6);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::remove(path + "-lock");
  EXPECT_EQ(cli::shell(path, "perdure sessions").exit, 3);
}

TEST_F(BrokenStores, ADamagedListOfTablesIsToldInOneLineWithTheCommandThatHelps) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    file.clear();
    for (auto at = text.find("CREATE "); at != std::string::npos;
         at = text.find("CREATE ", at + 1)) {
      file.seekp(static_cast<std::streamoff>(at));
      file.write("XREATE", 6);
    }
  }
  const Said said = cli::shell(path, "perdure sessions");
  EXPECT_EQ(said.exit, 6) << said.out;
  EXPECT_TRUE(said.out.contains("perdure salvage " + path + " NEW")) << said.out;
  EXPECT_FALSE(said.out.contains("schema")) << said.out;
}

TEST_F(BrokenStores, ADamagedPageIsFoundAndTheRestIsSaved) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  ASSERT_EQ(cli::shell(path, "perdure check").exit, 0);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto at = text.find("Weekly report");
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.write("Daily", 5);
  }
  const Said said = cli::shell(path, "perdure check");
  EXPECT_EQ(said.exit, 6) << said.out;
  EXPECT_TRUE(said.out.contains("perdure salvage")) << said.out;
  EXPECT_EQ(cli::shell(path, "perdure sessions").exit, 0);
  const Said saved = cli::shell(path, "perdure salvage " + path + " " + folder.file("saved.db"));
  EXPECT_EQ(saved.exit, 0) << saved.out;
  EXPECT_EQ(cli::shell(folder.file("saved.db"), "perdure check").exit, 0);
}

TEST_F(BrokenStores, WhatNoSalvageCanMendIsNamedAndNotToBeSalvagedAgain) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto at = text.find("bat_000");
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at + 5));
    file.write("1", 1);
  }
  EXPECT_TRUE(cli::shell(path, "perdure check").out.contains("perdure salvage"));
  const std::string saved = folder.file("saved.db");
  const Said salvaged = cli::shell(path, "perdure salvage " + path + " " + saved);
  EXPECT_EQ(salvaged.exit, 6) << salvaged.out;
  const std::string again = "perdure --json salvage " + path + " " + folder.file("again.db");
  EXPECT_EQ(cli::shell(path, again).exit, 6);
  EXPECT_TRUE(salvaged.out.contains("does not match the hash chain")) << salvaged.out;
  EXPECT_TRUE(salvaged.out.contains("no salvage can mend that")) << salvaged.out;
  const Said checked = cli::shell(saved, "perdure check");
  EXPECT_EQ(checked.exit, 6) << checked.out;
  EXPECT_TRUE(checked.out.contains("does not match the hash chain")) << checked.out;
  EXPECT_FALSE(checked.out.contains("perdure salvage")) << checked.out;
  EXPECT_TRUE(checked.out.contains("--with-damage")) << checked.out;
}

// The test may be root's, whom no permission stops: then the program runs as nobody.
TEST_F(BrokenStores, AStoreThatMayNotBeWrittenOrReadIsSaid) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  namespace fs = std::filesystem;
  fs::copy_file(perdure_program(), folder.file("perdure"));
  fs::permissions(folder.path(),
                  fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const std::string as_nobody =
      ::getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);
  const Said unwritable = cli::shell(path, as_nobody + folder.file("perdure") + " sessions");
  EXPECT_EQ(unwritable.exit, 4) << unwritable.out;
  EXPECT_TRUE(unwritable.out.contains("may not be read and written by you")) << unwritable.out;
  fs::permissions(path, fs::perms::none);
  const Said unreadable = cli::shell(path, as_nobody + folder.file("perdure") + " sessions");
  EXPECT_EQ(unreadable.exit, 4) << unreadable.out;
}

}  // namespace
}  // namespace perdure::cli
