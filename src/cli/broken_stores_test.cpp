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

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_at(const std::string& path, std::size_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

// Where a file has `text` for the first time; false: nowhere.
bool overwrite(const std::string& path, const std::string& text, const std::string& by) {
  const std::size_t at = content_of(path).find(text);
  if (at == std::string::npos) return false;
  write_at(path, at, by);
  return true;
}

// Zeroes the page that has `text`, as a failing disk does: no row of it can be read.
bool zero_page_with(const std::string& path, const std::string& text) {
  constexpr std::size_t page_bytes = 8192;
  const std::size_t at = content_of(path).find(text);
  if (at == std::string::npos) return false;
  write_at(path, at / page_bytes * page_bytes, std::string(page_bytes, '\0'));
  return true;
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
  ASSERT_TRUE(overwrite(path, "Weekly report", "Daily"));
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
  ASSERT_TRUE(overwrite(path, "bat_000", "bat_010"));
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

// Its row and its ledger can be read, and what it may still cost cannot.
TEST_F(BrokenStores, WhatIsUnknownOfASessionThatCannotBeReadIsNotANumber) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  EXPECT_TRUE(
      cli::shell(path, "perdure show ses_2b7x --json").out.contains(R"("unconfirmed_micros":0})"));
  ASSERT_TRUE(zero_page_with(path, "Refund everybody"));
  const Said shown = cli::shell(path, "perdure show ses_2b7x --json");
  EXPECT_EQ(shown.exit, 0) << shown.out;
  EXPECT_TRUE(shown.out.contains(R"("is_cost_known":false)")) << shown.out;
  EXPECT_TRUE(shown.out.contains(R"("unconfirmed_micros":null})")) << shown.out;
  const Said card = cli::shell(path, "perdure show ses_2b7x");
  EXPECT_TRUE(card.out.contains("unconfirmed cost unknown")) << card.out;
}

// Which calls wait for an approval only the state says: the list may lack some.
TEST_F(BrokenStores, PendingListsTheDoubtsOfSessionsThatCannotBeReadAndReportsTheDamage) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  ASSERT_TRUE(zero_page_with(path, "Refund everybody"));
  const Said listed = cli::shell(path, "perdure pending");
  EXPECT_EQ(listed.exit, 6) << listed.out;
  EXPECT_TRUE(listed.out.contains("ses_2b7x00:6")) << listed.out;
  EXPECT_TRUE(listed.out.contains("perdure: ")) << listed.out;
  EXPECT_EQ(cli::shell(path, "perdure pending --json").exit, 6);
  EXPECT_EQ(cli::shell(path, "perdure pending ses_8e1f").exit, 6) << "nothing is not known";
}

// Whether the store is there or not: the command line is wrong in either case.
TEST_F(BrokenStores, AUsageErrorIsReportedBeforeTheStoreIsOpened) {
  const TempFolder folder;
  const std::vector<std::string> lines = {
      "export @last",
      "export @last -o postgres://host/name",
      "export @last -o - --json",
      "deny ses_8e1f",
      "deny ses_8e1f --reason ''",
      "resolve ses_2b7x",
      "resolve ses_2b7x --as retry",
      "resolve ses_2b7x --as failed --reason seen --result rf_88",
      "answer ses_6a3e ' '",
      "fork ses_7k2m --set colour=red",
      "resume",
      "resume ses_7k2m ' '",
      "resume ses_7k2m --wait soon",
      "resume ses_7k2m --budget much",
      "log @last --follow --json",
      "log @last --from 0",
      "cat @last --raw --json",
      "sessions --watch --json",
      "sessions --limit none",
      "sessions cost:much",
      "prune --older-than old",
      "checkpoints @last --limit -1",
      "timeline @last --turn one",
      "backup -",
      "move memory: @last",
      "copy memory: @last"};
  for (const std::string& line : lines) {
    const Said there = shell("perdure " + line);
    EXPECT_EQ(there.exit, 2) << line << ": " << there.out;
    const Said missing = cli::shell(folder.file("none.db"), "perdure " + line);
    EXPECT_EQ(missing.exit, 2) << line << ": " << missing.out;
    EXPECT_EQ(missing.out, there.out) << line;
  }
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
