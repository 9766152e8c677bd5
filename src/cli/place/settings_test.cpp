// Which setting wins, and what a settings file may say.

#include "place/settings.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "world.hpp"

namespace perdure::cli {
namespace {

class SettingsTest : public testing::Test {
 protected:
  Result<Setting> store(const Invocation& given = {}) {
    World world{.out = stream_,
                .err = stream_,
                .environment = [this](const std::string& name) -> std::optional<std::string> {
                  const auto found = environment.find(name);
                  return found == environment.end() ? std::nullopt : std::optional(found->second);
                },
                .folder = folder.file("work/deep")};
    auto settings = read_settings(world, given);
    if (!settings) return forward(settings);
    return settings->front();
  }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder.file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  TempFolder folder = TempFolder::in_memory();
  std::map<std::string, std::string> environment{{"HOME", folder.file("home")}};

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
