// Which setting wins, and what a settings file may say.

#include "context/settings.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <sys/types.h>
#include <unistd.h>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure::cli {
namespace {

class SettingsTest : public testing::Test {
 protected:
  Result<Setting> store(const Invocation& given = {}) {
    ProcessIo io{.out = stream_,
                 .err = stream_,
                 .environment = [this](const std::string& name) -> std::optional<std::string> {
                   const auto found = environment.find(name);
                   return found == environment.end() ? std::nullopt : std::optional(found->second);
                 },
                 .folder = folder.file("work/deep")};
    io.user_id = me;
    auto settings = read_settings(io, given);
    if (!settings) return forward(settings);
    return settings->front();
  }
  [[nodiscard]] std::string said() const { return stream_.str(); }

  /// From now on it is another user's: given away by root, or else we are somebody else.
  void give_away(const std::string& name) {
    if (::geteuid() != 0) {
      me = ::geteuid() + 1;
    } else {
      ASSERT_EQ(::lchown(folder.file(name).c_str(), 65534, 65534), 0);
    }
  }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder.file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  TempFolder folder = TempFolder::in_memory();
  std::map<std::string, std::string> environment{{"HOME", folder.file("home")}};
  uid_t me = ::geteuid();

 private:
  std::ostringstream stream_;
};

TEST_F(SettingsTest, AFlagBeatsTheEnvironmentThatBeatsTheProjectThatBeatsTheUser) {
  EXPECT_EQ(must(store()).value, folder.file("home/.local/share/perdure/store.db"));
  environment["XDG_DATA_HOME"] = "data";
  EXPECT_EQ(must(store()).value, folder.file("home/.local/share/perdure/store.db"))
      << "a path of such a variable is whole";
  environment["XDG_DATA_HOME"] = folder.file("data");
  EXPECT_EQ(must(store()).value, folder.file("data/perdure/store.db"));
  write("home/.config/perdure/config", "store = mine.db\n");
  EXPECT_EQ(must(store()).value, folder.file("home/.config/perdure/mine.db"));
  write("work/.perdure/config", "# of the project\n\nstore = its.db # beside .perdure\n");
  EXPECT_EQ(must(store()).value, folder.file("work/its.db"));
  EXPECT_EQ(must(store()).origin, folder.file("work/.perdure/config"));
  environment["PERDURE_STORE"] = "there.db";
  EXPECT_EQ(must(store()).value, folder.file("work/deep/there.db"));
  Invocation given;
  given.options["store"] = {"postgres://db.example/agents"};
  EXPECT_EQ(must(store(given)).value, "postgres://db.example/agents");
  EXPECT_EQ(must(store(given)).origin, "--store");
}

TEST_F(SettingsTest, AProjectMayHaveAStoreOfItsOwn) {
  write("work/.perdure/store", "");
  EXPECT_EQ(must(store()).value, folder.file("work/.perdure/store"));
  EXPECT_EQ(must(store()).origin, folder.file("work/.perdure/store"));
  write("home/.config/perdure/config", "store = mine.db\n");
  EXPECT_EQ(must(store()).value, folder.file("home/.config/perdure/mine.db"));
}

// With a store of theirs we would run their programs.
TEST_F(SettingsTest, WhatAnotherUserLeftIsIgnoredAndNamed) {
  const std::string usual = folder.file("home/.local/share/perdure/store.db");
  for (const std::string given_away : {"work/.perdure/config", "work/.perdure", "work"}) {
    std::filesystem::remove_all(folder.file("work"));
    me = ::geteuid();
    write("work/.perdure/config", "store = /theirs.db\n");
    write("work/.perdure/store", "");
    EXPECT_EQ(must(store()).value, "/theirs.db");
    give_away(given_away);
    if (given_away == "work/.perdure/config") give_away("work/.perdure/store");
    EXPECT_NE(must(store()).value, "/theirs.db") << given_away;
    EXPECT_NE(must(store()).origin, folder.file("work/.perdure/store")) << given_away;
    EXPECT_TRUE(said().contains("is ignored: " + folder.file(given_away) + " belongs to"))
        << said();
    EXPECT_TRUE(said().contains("trusted_folders = " + folder.file("work"))) << said();
  }
  environment["XDG_CONFIG_HOME"] = folder.file("config");
  write("config/perdure/config", "trusted_folders = /nowhere : " + folder.file("work") + "\n");
  EXPECT_EQ(must(store()).value, "/theirs.db");
  write("config/perdure/config", "trusted_folders = " + folder.file("wor") + "\n");
  EXPECT_NE(must(store()).value, "/theirs.db") << "a part of a name is no folder";
  environment["PERDURE_STORE"] = folder.file("work/.perdure/store");
  EXPECT_EQ(must(store()).value, folder.file("work/.perdure/store")) << "what is named is obeyed";
}

TEST_F(SettingsTest, WhatEverybodyMayWriteIsIgnored) {
  namespace fs = std::filesystem;
  write("work/.perdure/config", "store = /theirs.db\n");
  for (const std::string open : {"work/.perdure/config", "work/.perdure", "work"}) {
    const fs::path path = folder.file(open);
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    EXPECT_NE(must(store()).value, "/theirs.db") << open;
    fs::permissions(path, before);
    EXPECT_EQ(must(store()).value, "/theirs.db") << open;
  }
  fs::permissions(folder.file("work"), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(must(store()).value, "/theirs.db") << "in such a folder nobody replaces our files";
}

TEST_F(SettingsTest, AStoreThatAnotherUserPutBesideOursIsIgnored) {
  write("work/.perdure/store/store.db", "");
  write("work/.perdure/store/store.db-wal", "");
  EXPECT_EQ(must(store()).value, folder.file("work/.perdure/store/store.db"));
  give_away("work/.perdure/store/store.db-wal");
  EXPECT_NE(must(store()).value, folder.file("work/.perdure/store/store.db"));
}

TEST_F(SettingsTest, ALinkOfAnotherUserIsIgnored) {
  write("work/ours", "store = /theirs.db\n");
  std::filesystem::create_directories(folder.file("work/.perdure"));
  std::filesystem::create_symlink("../ours", folder.file("work/.perdure/config"));
  EXPECT_EQ(must(store()).value, "/theirs.db");
  give_away("work/.perdure/config");
  EXPECT_NE(must(store()).value, "/theirs.db");
}

TEST_F(SettingsTest, AUsualPlaceThatIsAnotherUsersIsNotUsed) {
  write("home/.config/perdure/config", "store = mine.db\n");
  write("home/.local/share/perdure/store.db", "");
  EXPECT_EQ(must(store()).objection, "");
  give_away("home/.config/perdure");
  give_away("home/.local/share/perdure/store.db");
  EXPECT_EQ(must(store()).origin, "default");
  EXPECT_TRUE(must(store()).objection.contains("store.db belongs to")) << must(store()).objection;
  EXPECT_TRUE(said().contains("home/.config/perdure/config is ignored")) << said();
}

TEST_F(SettingsTest, AFolderToWhichOthersMayAddFilesHoldsNoSettingsAndNoStore) {
  namespace fs = std::filesystem;
  const fs::perms like_tmp = fs::perms::all | fs::perms::sticky_bit;
  write("work/.perdure/config", "store = /theirs.db\n");
  fs::permissions(folder.file("work/.perdure"), like_tmp);
  EXPECT_NE(must(store()).value, "/theirs.db");
  fs::remove_all(folder.file("work/.perdure"));
  write("work/.perdure/store/store.db", "");
  EXPECT_EQ(must(store()).value, folder.file("work/.perdure/store/store.db"));
  fs::permissions(folder.file("work/.perdure/store"), like_tmp);
  EXPECT_NE(must(store()).value, folder.file("work/.perdure/store/store.db"));
}

// SQLite keeps its other files beside the file that a link leads to.
TEST_F(SettingsTest, AStoreBehindALinkIsJudgedWhereItIs) {
  namespace fs = std::filesystem;
  write("elsewhere/real.db", "");
  fs::create_directories(folder.file("work/.perdure"));
  fs::create_symlink(folder.file("elsewhere/real.db"), folder.file("work/.perdure/store"));
  EXPECT_EQ(must(store()).value, folder.file("work/.perdure/store"));
  fs::permissions(folder.file("elsewhere"), fs::perms::all);
  EXPECT_NE(must(store()).value, folder.file("work/.perdure/store"));
  fs::permissions(folder.file("elsewhere"), fs::perms::owner_all);
  write("elsewhere/real.db-wal", "");
  give_away("elsewhere/real.db-wal");
  EXPECT_NE(must(store()).value, folder.file("work/.perdure/store"));
}

TEST_F(SettingsTest, TrustedFoldersAreWholePathsAndNoMore) {
  environment["XDG_CONFIG_HOME"] = folder.file("config");
  write("work/.perdure/config", "store = /theirs.db\n");
  std::filesystem::permissions(folder.file("work"), std::filesystem::perms::all);
  const auto trusting = [&](const std::string& folders) {
    write("config/perdure/config", "trusted_folders = " + folders + "\n");
    const auto found = store();
    return found ? found->value == "/theirs.db" ? "trusted" : "ignored" : "refused";
  };
  EXPECT_STREQ(trusting(folder.file("work") + "  # ours"), "trusted");
  EXPECT_STREQ(trusting(folder.file("work#2")), "ignored") << "no comment begins within a word";
  for (const char* const partial : {"work", "./work", "../work", "~eve", "/srv:work"})
    EXPECT_STREQ(trusting(partial), "refused") << partial;
  environment["HOME"] = folder.file("work");
  EXPECT_STREQ(trusting("~"), "trusted");
  environment.erase("HOME");
  EXPECT_STREQ(trusting("~"), "refused");
  EXPECT_STREQ(trusting("~/work"), "refused");
}

TEST_F(SettingsTest, AProjectDoesNotSayWhomToTrust) {
  write("work/.perdure/config", "trusted_folders = /\n");
  EXPECT_EQ(store().error().code, ErrorCode::invalid_argument);
}

TEST_F(SettingsTest, AFolderMeansTheStoreInIt) {
  std::filesystem::create_directories(folder.file("work/deep/stores"));
  environment["PERDURE_STORE"] = "stores";
  EXPECT_EQ(must(store()).value, folder.file("work/deep/stores/store.db"));
}

TEST_F(SettingsTest, AStoreThatIsNotNamedIsNotGuessed) {
  Invocation given;
  for (const char* nothing : {"", "sqlite:"}) {
    given.options["store"] = {nothing};
    const auto read = store(given);
    ASSERT_FALSE(read) << nothing;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
  }
  environment["PERDURE_STORE"] = "";
  EXPECT_EQ(must(store()).origin, "default");
  write("work/.perdure/config", "store =\n");
  ASSERT_FALSE(store());
  EXPECT_TRUE(store().error().message.contains("config:1:")) << store().error().message;
}

TEST_F(SettingsTest, ALineThatMakesNoSenseIsNamed) {
  write("work/.perdure/config", "store = a.db\nstoer = b.db\n");
  const auto read = store();
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.contains("config:2:")) << read.error().message;
}

}  // namespace
}  // namespace perdure::cli
