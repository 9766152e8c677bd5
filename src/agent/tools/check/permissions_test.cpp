// The rules for permissions, as a table; and paths as text.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/state_details.hpp"
#include "tools/check/paths.hpp"

namespace perdure {
namespace {

constexpr Permit allow = Permit::allow;
constexpr Permit ask = Permit::ask;
constexpr Permit deny = Permit::deny;

struct Row {
  std::string what;
  Permissions rules;
  std::optional<SideEffects> touches;
  std::vector<std::string> paths;
  Permit expected;
};

const SideEffects reads{.read = true};
const SideEffects writes{.read = true, .write = true};
const SideEffects sends{.network = true, .mutate = true};

std::vector<Row> table() {
  return {
      {"reads are allowed", {}, reads, {}, allow},
      {"writes are asked about", {}, writes, {}, ask},
      {"what declares nothing is asked about", {}, std::nullopt, {}, ask},
      {"the strictest side effect counts", {.network = allow, .mutate = deny}, sends, {}, deny},
      {"also if it comes first", {.network = deny, .mutate = allow}, sends, {}, deny},
      {"a name comes before side effects", {.tools = {{"edit", allow}}}, writes, {}, allow},
      {"a name may be a pattern", {.tools = {{"e*t", allow}}}, writes, {}, allow},
      {"a name of another tool is none", {.tools = {{"edi", allow}}}, writes, {}, ask},
      {"the strictest name counts", {.tools = {{"edit", allow}, {"*", ask}}}, reads, {}, ask},
      {"a denied name is denied", {.tools = {{"*", deny}, {"edit", allow}}}, reads, {}, deny},
      {"a denied side effect is denied to all names",
       {.write = deny, .tools = {{"edit", allow}}},
       writes,
       {},
       deny},
      {"a name may ask what side effects allow", {.tools = {{"edit", ask}}}, reads, {}, ask},
      {"a denied path is denied", {.paths = {{"secret/**", deny}}}, reads, {"secret/a"}, deny},
      {"whatever else allows it",
       {.tools = {{"edit", allow}}, .paths = {{"**", allow}, {"secret/**", deny}}},
       reads,
       {"secret/a"},
       deny},
      {"so is one of several", {.paths = {{"b", deny}}}, reads, {"a", "b"}, deny},
      {"another path is not", {.paths = {{"secret/**", deny}}}, reads, {"open/a"}, allow},
      {"dots do not hide a path",
       {.paths = {{"secret/**", deny}}},
       reads,
       {"x/.././secret//a"},
       deny},
      {"what is in a denied folder is", {.paths = {{"secret", deny}}}, reads, {"secret/b/a"}, deny},
      {"or asked about", {.paths = {{"secret", ask}}}, reads, {"secret/a"}, ask},
      {"but not allowed with it", {.read = ask, .paths = {{"a", allow}}}, reads, {"a/b"}, ask},
      {"nor a trailing slash", {.paths = {{"secret", deny}}}, reads, {"secret/"}, deny},
      {"a path that is asked about is asked about",
       {.tools = {{"edit", allow}}, .paths = {{"*.lock", ask}}},
       writes,
       {"x.lock"},
       ask},
      {"an allowed path spares the question",
       {.paths = {{"src/**", allow}}},
       writes,
       {"src/a"},
       allow},
      {"only if all paths are allowed",
       {.paths = {{"src/**", allow}}},
       writes,
       {"src/a", "b"},
       ask},
      {"and not what a name asks",
       {.tools = {{"edit", ask}}, .paths = {{"src/**", allow}}},
       writes,
       {"src/a"},
       ask},
      {"nor what the network asks", {.paths = {{"**", allow}}}, sends, {"a"}, ask},
      {"nor a no", {.write = deny, .paths = {{"**", allow}}}, writes, {"a"}, deny},
      {"a path out of the root is denied", {.paths = {{"**", allow}}}, reads, {"../a"}, deny},
      {"however it gets there", {}, reads, {"a/../../b"}, deny},
      {"an empty path is denied", {}, reads, {""}, deny},
      {"a relative pattern is not for absolute paths",
       {.paths = {{"**", deny}}},
       reads,
       {"/etc/x"},
       allow},
      {"an absolute one is", {.paths = {{"/etc/**", deny}}}, reads, {"/etc/../etc/x"}, deny},
  };
}

TEST(PermissionsTest, AreAsTheTableSays) {
  for (const auto& [what, rules, touches, paths, expected] : table()) {
    const Tool tool{.name = "edit", .side_effects = touches};
    Json::Array list;
    for (const std::string& path : paths) list.emplace_back(path);
    const Json args(Json::Object{{"paths", list}});
    const auto decision = decide_permit(rules, tool, {.pointers = {"/paths"}}, args);
    EXPECT_EQ(to_string(decision.permit), to_string(expected)) << what << ": " << decision.why;
    EXPECT_EQ(decision.why.empty(), expected == allow) << what;
  }
}

TEST(PermissionsTest, LookAtPathsInAnyPlace) {
  const Permissions rules{.paths = {{"x", deny}}};
  const Tool tool{.name = "edit", .side_effects = reads};
  const Json args =
      parse_json(R"({"a": {"b": "x"}, "c/d": "x", "e~f": "x", "l": [{"p": "y"}, {"p": "x"}]})")
          .value();
  for (const std::string pointer : {"/a/b", "/c~1d", "/e~0f", "/l/1/p"}) {
    EXPECT_EQ(decide_permit(rules, tool, {.pointers = {pointer}}, args).permit, deny) << pointer;
  }
  EXPECT_EQ(decide_permit(rules, tool, {.pointers = {"/l/0/p"}}, args).permit, allow);
}

TEST(PermissionsTest, AskAboutAPathThatIsNotSaid) {
  const Tool tool{.name = "edit", .side_effects = reads};
  const Json args = parse_json(R"({"a": "x", "n": 5, "none": [], "some": ["y", 5]})").value();
  const Permissions denies{.paths = {{"secret", deny}, {"**", allow}}};
  for (const std::string pointer : {"/b", "/a/b", "/n", "/none", "/some"}) {
    const auto decision = decide_permit(denies, tool, {.pointers = {pointer}}, args);
    EXPECT_EQ(decision.permit, ask) << pointer;
    EXPECT_EQ(decision.why, "there are rules for paths, and it does not say its path");
  }
  EXPECT_EQ(decide_permit(denies, tool, {.pointers = {"/a", "/b"}}, args).permit, ask);
  const Permissions allows{.paths = {{"**", allow}}};
  EXPECT_EQ(decide_permit(allows, tool, {.pointers = {"/b"}}, args).permit, allow);
  EXPECT_EQ(
      decide_permit(allows, {.name = "edit", .side_effects = writes}, {.pointers = {"/b"}}, args)
          .permit,
      ask)
      << "no path that is not said is allowed";
  const Permissions closed{.paths = {{"**", deny}}};
  EXPECT_EQ(decide_permit(closed, tool, {.pointers = {"/b"}, .otherwise = "."}, args).permit, deny);
  EXPECT_EQ(decide_permit(denies, tool, {.pointers = {"/b"}, .otherwise = "."}, args).permit,
            allow);
}

struct Spelling {
  std::string path;
  std::string pattern;
  Permit expected;
};

void expect_spellings(PathArgs path_args, const std::vector<Spelling>& rows) {
  path_args.pointers = {"/path"};
  const Tool tool{.name = "edit", .side_effects = reads};
  for (const auto& [path, pattern, expected] : rows) {
    const Json args(Json::Object{{"path", path}});
    const auto decision = decide_permit({.paths = {{pattern, deny}}}, tool, path_args, args);
    EXPECT_EQ(to_string(decision.permit), to_string(expected)) << path << " and " << pattern;
  }
}

TEST(PermissionsTest, NoSpellingOfAPathEvadesARule) {
  const PathArgs in_a_folder{.folder = "/data/sub", .roots = {{.path = "/data"}}};
  expect_spellings(in_a_folder, {{"../secret/a", "secret/**", deny},
                                 {"..//secret/./a", "secret/**", deny},
                                 {"/data/secret/a", "secret/**", deny},
                                 {"//data//secret/", "secret/**", deny},
                                 {"/data/sub/../secret/a", "secret/**", deny},
                                 {"/data", ".", deny},
                                 {"../secret/a", "/data/secret/**", deny},
                                 {"secret/a", "secret/**", allow},
                                 {"secret/a", "sub/secret/**", deny},
                                 {"/datashop/secret/a", "secret/**", allow},
                                 {"../../etc/x", "y", deny},
                                 {"/etc/x", "**", allow},
                                 {"/etc/x", "/etc/**", deny}});
  const PathArgs named{
      .folder = "/data/a",
      .roots = {{.name = "a", .path = "/data/a"}, {.name = "b", .path = "/data/b"}}};
  expect_spellings(named, {{"../b/x", "b/x", deny},
                           {"/data/b/x", "b/x", deny},
                           {"x", "b/x", allow},
                           {"x", "a/x", deny}});
  const PathArgs without_roots{.folder = "/data"};
  expect_spellings(without_roots, {{"secret/a", "secret/**", deny},
                                   {"/data/secret/a", "secret/**", deny},
                                   {"../data/secret/a", "secret/**", deny}});
  const PathArgs of_file_tools{.roots = {{.path = "/data"}}};
  expect_spellings(of_file_tools, {{"secret/a", "/data/secret/**", deny},
                                   {"secret/a", "secret/**", deny},
                                   {"../secret/a", "x", deny}});
}

TEST(PathPatternTest, FitsPartByPart) {
  const std::vector<std::pair<std::string, std::string>> fitting = {
      {"a/*.txt", "a/b.txt"},
      {"**/b", "b"},
      {"**/b", "x/y/b"},
      {"a/**/b", "a/b"},
      {"a/**/b", "a/x/y/b"},
      {"a/**", "a"},
      {"a/**", "a/b/c"},
      {"?", "x"},
      {"**", "."},
      {"*", "a"},
      {"/", "/"},
      {"/a/*", "/a/b"},
      {"**/.git/**", "x/.git/config"}};
  for (const auto& [pattern, path] : fitting)
    EXPECT_TRUE(fits_path(pattern, path)) << pattern << path;
  const std::vector<std::pair<std::string, std::string>> others = {{"a/*.txt", "a/b/c.txt"},
                                                                   {"*", "a/b"},
                                                                   {"**/b", "bb"},
                                                                   {"a/**", "ab"},
                                                                   {"a", "a/b"},
                                                                   {"/a", "a"},
                                                                   {"a", "/a"},
                                                                   {"?", "xy"},
                                                                   {"A", "a"}};
  for (const auto& [pattern, path] : others)
    EXPECT_FALSE(fits_path(pattern, path)) << pattern << path;
}

TEST(PathPatternTest, TakesNoTimeWorthMentioning) {
  std::string pattern;
  std::string path;
  for (int i = 0; i < 200; ++i) {
    pattern += "**/*a*a*a*a*b/";
    path += std::string(50, 'a') + "/";
  }
  EXPECT_FALSE(fits_path(pattern, path));
}

TEST(PathPatternTest, PathsHaveOneName) {
  EXPECT_EQ(plain_path("./a//b/../c/").value(), "a/c");
  EXPECT_EQ(plain_path("/a/../b").value(), "/b");
  EXPECT_EQ(plain_path("a/..").value(), ".");
  EXPECT_EQ(plain_path("//").value(), "/");
  EXPECT_FALSE(plain_path("a/../.."));
  EXPECT_FALSE(plain_path("/.."));
  EXPECT_FALSE(plain_path(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace perdure
