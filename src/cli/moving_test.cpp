// Sessions that go elsewhere, as a bundle or by `move`: nothing is made for what does not arrive.

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "doubles/places.hpp"
#include "doubles/temp_folder.hpp"
#include "fixture.hpp"
#include "shell_fixture.hpp"

namespace perdure::cli {
namespace {

class Moving : public ShellFixture {};

std::string names_in(const std::string& folder) {
  std::string names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    names += file.path().filename().string() + "\n";
  return names;
}

TEST_F(Moving, ABundleGoesThroughAPipeAsItGoesIntoAFile) {
  const TempFolder folder;
  const Said said = shell("cd " + folder.path().string() +
                          " && mkdir passing && export TMPDIR=$PWD/passing && set -o pipefail && "
                          "perdure -q export ses_7k -o a.bundle > talk && "
                          "perdure export ses_7k -o - 2>> talk | tee b.bundle | "
                          "perdure -q import - --store x.db && cmp a.bundle b.bundle && "
                          "perdure -q show ses_7k --store x.db > shown && rm x.db*");
  EXPECT_EQ(said.exit, 0) << said.out;
  EXPECT_EQ(said.out, "Imported 1 session, 26 entries, 2 calls; every sum is right.\n");
  for (const char* name : {"a.bundle", "b.bundle", "passing", "talk", "shown"})
    std::filesystem::remove(folder.file(name));
  EXPECT_EQ(names_in(folder.path().string()), "");
}

TEST_F(Moving, ABundleThatNobodyTakesIsNotExported) {
  const TempFolder folder;
  const Said said = shell("export TMPDIR=" + folder.path().string() +
                          "; exec 3> >(exit 0); wait $!; perdure export ses_7k -o - >&3");
  EXPECT_EQ(said.exit, 1) << said.out;
  EXPECT_TRUE(said.out.contains("not all of it could be written")) << said.out;
  EXPECT_FALSE(said.out.contains("Exported")) << said.out;
  EXPECT_EQ(names_in(folder.path().string()), "");
}

TEST_F(Moving, AStoreIsNotMadeForABundleThatIsNone) {
  const TempFolder folder;
  const TempFolder elsewhere;
  const std::string bundle = elsewhere.file("cut.bundle");
  ASSERT_EQ(shell("perdure -q export ses_7k -o - | head -c 5000 > " + bundle).exit, 0);
  const auto import = [&](const std::string& line) {
    return shell("mkdir -p " + folder.file("passing") + "; export TMPDIR=" +
                 folder.file("passing") + "; " + line + " --store " + folder.file("x/new.db"));
  };
  const Said foreign = import("echo hello | perdure import -");
  EXPECT_EQ(foreign.exit, 2) << foreign.out;
  EXPECT_TRUE(foreign.out.contains("perdure: stdin is not a bundle")) << foreign.out;
  const Said cut = import("cat " + bundle + " | perdure import -");
  EXPECT_EQ(cut.exit, 6) << cut.out;
  EXPECT_TRUE(cut.out.contains("the bundle stdin is not what was exported")) << cut.out;
  EXPECT_EQ(import("perdure import " + bundle).exit, 6);
  EXPECT_EQ(import("perdure import " + perdure_program()).exit, 2);
  EXPECT_EQ(names_in(folder.path().string()), "passing\n");
}

TEST_F(Moving, AStoreIsNotMadeForSessionsThatDoNotGoThere) {
  const TempFolder folder;
  const std::string there = folder.file("new.db");
  EXPECT_EQ(shell("perdure move " + there + " ses_0chi1d --yes").exit, 1);
  EXPECT_EQ(shell("perdure move " + there + " ses_9pq4 --yes").exit, 5);
  EXPECT_EQ(shell("perdure move " + there + " ses_7k").exit, 9);
  EXPECT_EQ(shell("perdure move " + there + " --abandon").exit, 3);
  EXPECT_EQ(names_in(folder.path().string()), "");
  EXPECT_EQ(shell("perdure move " + there + " ses_0chi1d --yes --with-relatives").exit, 0);
}

TEST_F(Moving, SessionsAreNotMovedToWhereTheyWouldBeLost) {
  EXPECT_EQ(shell("perdure move memory: ses_7k --yes").exit, 2);
  EXPECT_EQ(shell("perdure -q sessions state:moved").out, "");
}

}  // namespace
}  // namespace perdure::cli
