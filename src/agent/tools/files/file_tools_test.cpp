// File tools: what they answer, that no path leads out of a root, and what verify can tell.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FileToolsTest : public ::testing::Test {
 protected:
  FileToolsTest() {
    fs::create_directories(folder_.path() / "root/sub");
    fs::create_directories(folder_.path() / "outside");
    put("root/a.txt", "one\ntwo\nthree\n");
    put("outside/secret", "SECRET\n");
    spec_.roots = {{.path = folder_.file("root"), .is_writable = true}};
  }
  void put(const std::string& path, const std::string& text) {
    std::ofstream(folder_.path() / path, std::ios::binary) << text;
  }
  std::string get(const std::string& path) {
    std::ifstream file(folder_.path() / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ToolSpec tool(const std::string& name) {
    const auto all = make_file_tools(spec_);
    for (const ToolSpec& made : *all) {
      if (made.tool.name == name) return made;
    }
    return {};
  }
  std::string call(const std::string& name, const std::string& args) {
    const ToolSpec made = tool(name);
    return call(made, parse_json(args).value());
  }
  std::string call(const ToolSpec& made, const Json& args) {
    const ToolOutcome outcome = made.tool.run({.args = args, .key = "key-1"});
    if (const auto* done = std::get_if<Succeeded>(&outcome)) {
      return (done->is_error ? "error: " : "") + done->content;
    }
    if (const auto* failed = std::get_if<Failed>(&outcome)) return "failed: " + failed->why;
    return "doubt: " + std::get<Doubtful>(outcome).why;
  }
  std::string verify(const std::string& name, const std::string& args, Timestamp since) {
    const Json given = parse_json(args).value();
    const Verdict said =
        tool(name).tool.verify({.args = given, .key = "key-2", .dispatched_at = since});
    if (const auto* landed = std::get_if<Landed>(&said)) return "landed: " + landed->content;
    if (const auto* unclear = std::get_if<CannotTell>(&said)) return "unclear: " + unclear->why;
    return "not landed";
  }
  static constexpr Timestamp past{Duration(0)};
  static constexpr Timestamp future{std::chrono::years(300)};

  TempFolder folder_;
  FileToolsSpec spec_;
};

TEST_F(FileToolsTest, ReadLines) {
  EXPECT_EQ(call("read_file", R"({"path": "a.txt"})"), "one\ntwo\nthree\n");
  EXPECT_EQ(call("read_file", R"({"path": "./sub/../a.txt", "offset": 2, "limit": 1})"),
            "two\n[lines 2 to 2 of 3; continue with offset 3]");
  EXPECT_EQ(call("read_file", R"({"path": "a.txt", "offset": 3})"), "three\n");
  EXPECT_EQ(call("read_file", R"({"path": "a.txt", "offset": 9})"), "[the file has 3 lines]");
  spec_.read_bytes_max = 8;
  EXPECT_EQ(call("read_file", R"({"path": "a.txt"})"),
            "one\ntwo\n[lines 1 to 2 of 3; continue with offset 3]");
  put("root/long", "ééééééé");
  EXPECT_EQ(call("read_file", R"({"path": "long"})"), "éééé\n[line 1 is cut after 8 bytes]");
  put("root/empty", "");
  EXPECT_EQ(call("read_file", R"({"path": "empty"})"), "");
}

TEST_F(FileToolsTest, SayWhatIsNoText) {
  put("root/b", std::string("\x7f\x45\0\x46", 4));
  EXPECT_THAT(call("read_file", R"({"path": "b"})"),
              StartsWith("[a binary file of 4 bytes, sha256"));
  put("root/c", "\xff\xfe");
  EXPECT_THAT(call("read_file", R"({"path": "c"})"), StartsWith("[a binary file"));
  EXPECT_THAT(call("edit_file", R"({"path": "b", "old_text": "F", "new_text": "G"})"),
              HasSubstr("binary"));
}

TEST_F(FileToolsTest, ListFolders) {
  put("root/sub/x", "12");
  fs::create_symlink("/etc", folder_.path() / "root/link");
  EXPECT_EQ(call("list_files", "{}"), "a.txt (14 bytes)\nlink (a link)\nsub/\n");
  EXPECT_EQ(call("list_files", R"({"path": "sub"})"), "x (2 bytes)\n");
  spec_.entries_max = 1;
  EXPECT_EQ(call("list_files", "{}"), "a.txt (14 bytes)\n[2 more]\n");
}

TEST_F(FileToolsTest, SearchFiles) {
  put("root/sub/b.cpp", "int two;\n");
  put("root/binary", std::string("two\0", 4));
  fs::create_symlink(folder_.path() / "outside", folder_.path() / "root/link");
  EXPECT_EQ(call("search_files", R"({"pattern": "t(w|x)o"})"),
            "a.txt:2: two\nsub/b.cpp:1: int two;\n");
  EXPECT_EQ(call("search_files", R"({"pattern": "two", "files": "**/*.cpp"})"),
            "sub/b.cpp:1: int two;\n");
  EXPECT_EQ(call("search_files", R"({"pattern": "two", "path": "sub"})"),
            "sub/b.cpp:1: int two;\n");
  EXPECT_EQ(call("search_files", R"({"pattern": "SECRET"})"), "[no match]");
  EXPECT_THAT(call("search_files", R"({"pattern": "("})"), StartsWith("error: the pattern"));
  EXPECT_THAT(call("search_files", R"({"pattern": "x", "path": "no"})"), StartsWith("error: "));
  spec_.matches_max = 1;
  EXPECT_EQ(call("search_files", R"({"pattern": "o"})"),
            "a.txt:1: one\n[more matches are not shown]\n");
}

TEST_F(FileToolsTest, WriteWholeFilesAndTheirFolders) {
  EXPECT_THAT(call("write_file", R"({"path": "new/er/b.txt", "content": "x"})"),
              StartsWith("written: 1 bytes, sha256 "));
  EXPECT_EQ(get("root/new/er/b.txt"), "x");
  fs::permissions(folder_.path() / "root/a.txt", fs::perms(0640));
  call("write_file", R"({"path": "a.txt", "content": "y"})");
  EXPECT_EQ(get("root/a.txt"), "y");
  EXPECT_EQ(fs::status(folder_.path() / "root/a.txt").permissions(), fs::perms(0640));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "root"), {}), 3)
      << "nothing is left";
}

TEST_F(FileToolsTest, EditWhatIsThereOnce) {
  EXPECT_THAT(call("edit_file", R"({"path": "a.txt", "old_text": "two", "new_text": "2"})"),
              StartsWith("written"));
  EXPECT_EQ(get("root/a.txt"), "one\n2\nthree\n");
  EXPECT_THAT(call("edit_file", R"({"path": "a.txt", "old_text": "zwei", "new_text": "2"})"),
              StartsWith("failed: old_text is not in"));
  EXPECT_THAT(call("edit_file", R"({"path": "a.txt", "old_text": "e", "new_text": "E"})"),
              HasSubstr("3 times"));
  call("edit_file", R"({"path": "a.txt", "old_text": "e", "new_text": "ee", "all": true})");
  EXPECT_EQ(get("root/a.txt"), "onee\n2\nthreeee\n");
}

TEST_F(FileToolsTest, NoPathLeadsOut) {
  fs::create_symlink(folder_.path() / "outside", folder_.path() / "root/folder");
  fs::create_symlink(folder_.path() / "outside/secret", folder_.path() / "root/file");
  fs::create_symlink("a.txt", folder_.path() / "root/inside");
  const std::vector<std::string> attacks = {"../outside/secret",
                                            "sub/../../outside/secret",
                                            "/etc/passwd",
                                            "folder/secret",
                                            "file",
                                            "inside",
                                            "",
                                            ".",
                                            "sub",
                                            "/proc/self/root/etc/passwd",
                                            "sub/./../../outside/secret",

                                            "a.txt/x",
                                            folder_.file("root/a.txt")};
  for (const std::string& path : attacks) {
    const std::string text = Json(path).text();
    const std::string read = call("read_file", "{\"path\": " + text + "}");
    EXPECT_THAT(read, StartsWith("error: ")) << path;
    EXPECT_THAT(read, ::testing::Not(HasSubstr("SECRET"))) << path;
    EXPECT_THAT(call("write_file", "{\"content\": \"EVIL\", \"path\": " + text + "}"),
                StartsWith("failed: "))
        << path;
    EXPECT_THAT(call("edit_file", R"({"old_text": "S", "new_text": "EVIL", "path": )" + text + "}"),
                StartsWith("failed: "))
        << path;
  }
  EXPECT_THAT(call("list_files", R"({"path": "folder"})"), StartsWith("error: "));
  EXPECT_THAT(call("list_files", R"({"path": ".."})"), StartsWith("error: "));
  EXPECT_EQ(get("outside/secret"), "SECRET\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "outside"), {}), 1);
}

TEST_F(FileToolsTest, ALinkThatIsPutThereMeanwhileLeadsNowhere) {
  const ToolSpec read = tool("read_file");
  const ToolSpec write = tool("write_file");
  fs::create_directories(folder_.path() / "root/swap");
  put("root/swap/secret", "plain\n");
  fs::create_symlink(folder_.path() / "outside", folder_.path() / "root/trap");
  std::atomic<bool> is_over = false;
  const std::string swap = folder_.file("root/swap");
  const std::string trap = folder_.file("root/trap");
  std::jthread attacker([&] {
    const std::string spare = folder_.file("root/spare");
    while (!is_over) {
      std::error_code ignored;
      fs::rename(swap, spare, ignored);
      fs::rename(trap, swap, ignored);
      fs::rename(swap, trap, ignored);
      // A write that found no folder there has made one.
      do {
        fs::remove_all(swap, ignored);
        fs::rename(spare, swap, ignored);
      } while (ignored);
    }
  });
  const Json path(Json::Object{{"path", "swap/secret"}});
  const Json content(Json::Object{{"path", "swap/x"}, {"content", "EVIL"}});
  for (int i = 0; i < 3000; ++i) {
    EXPECT_THAT(call(read, path), ::testing::Not(HasSubstr("SECRET")));
    if (i % 10 == 0) call(write, content);
  }
  is_over = true;
  attacker.join();
  EXPECT_EQ(call(read, path), "plain\n");
  EXPECT_FALSE(fs::exists(folder_.path() / "outside/x"));
}

TEST_F(FileToolsTest, WhatIsNoFileIsNotOpened) {
  ASSERT_EQ(::mkfifo(folder_.file("root/pipe").c_str(), 0600), 0);
  EXPECT_EQ(call("read_file", R"({"path": "pipe"})"), "error: pipe is no plain file");
  EXPECT_THAT(call("write_file", R"({"path": "pipe", "content": ""})"), HasSubstr("no plain file"));
  EXPECT_THAT(call("write_file", R"({"path": "sub", "content": ""})"), HasSubstr("no plain file"));
  EXPECT_EQ(call("search_files", R"({"pattern": "x", "files": "pipe"})"), "[no match]");
}

TEST_F(FileToolsTest, LargeFilesAreNotOpened) {
  spec_.file_bytes_max = 10;
  EXPECT_THAT(call("read_file", R"({"path": "a.txt"})"), HasSubstr("has 14 bytes"));
  EXPECT_THAT(call("write_file", R"({"path": "b", "content": "01234567890"})"),
              HasSubstr("too large"));
}

TEST_F(FileToolsTest, WhatIsHiddenIsNotThere) {
  spec_.hidden = {"**/.env", "sub/**"};
  put("root/.env", "KEY=1\n");
  put("root/sub/x", "KEY=2\n");
  EXPECT_EQ(call("search_files", R"({"pattern": "KEY"})"), "[no match]");
  EXPECT_EQ(call("list_files", "{}"), "a.txt (14 bytes)\n");
  EXPECT_THAT(call("read_file", R"({"path": "a/../.env"})"), StartsWith("error: "));
  EXPECT_THAT(call("write_file", R"({"path": "sub/y", "content": ""})"), StartsWith("failed: "));
}

TEST_F(FileToolsTest, AFolderThatIsHiddenHidesWhatIsInIt) {
  put("root/sub/deep/x", "KEY=2\n");
  for (const std::string& pattern :
       {std::string("sub"), std::string("sub/"), folder_.file("root") + "/sub"}) {
    spec_.hidden = {pattern};
    EXPECT_THAT(call("read_file", R"({"path": "sub/deep/x"})"), HasSubstr("not for this tool"));
    EXPECT_THAT(call("list_files", R"({"path": "sub/deep"})"), StartsWith("error: "));
    EXPECT_EQ(call("search_files", R"({"pattern": "KEY"})"), "[no match]");
    EXPECT_THAT(call("write_file", R"({"path": "sub/y", "content": ""})"), StartsWith("failed: "));
  }
}

TEST_F(FileToolsTest, SeveralRootsHaveNames) {
  spec_.roots = {{.name = "in", .path = folder_.file("outside")},
                 {.name = "out", .path = folder_.file("root"), .is_writable = true}};
  EXPECT_EQ(call("read_file", R"({"path": "in/secret"})"), "SECRET\n");
  EXPECT_EQ(call("list_files", "{}"), "in/\nout/\n");
  EXPECT_THAT(call("read_file", R"({"path": "secret"})"), HasSubstr("there are in, out"));
  EXPECT_THAT(call("write_file", R"({"path": "in/x", "content": ""})"), HasSubstr("only read"));
  EXPECT_THAT(call("write_file", R"({"path": "out/x", "content": ""})"), StartsWith("written"));
  EXPECT_THAT(call("read_file", R"({"path": "in/../../outside/secret"})"), StartsWith("error: "));
}

TEST_F(FileToolsTest, AreMadeOfSoundRootsOnly) {
  const auto why = [](std::vector<FileRoot> roots) {
    const auto made = make_file_tools({.roots = std::move(roots)});
    return made ? "made" : made.error().message;
  };
  EXPECT_THAT(why({}), HasSubstr("need a root"));
  EXPECT_THAT(why({{.path = "relative"}}), HasSubstr("whole path"));
  EXPECT_THAT(why({{.path = "/no/such"}}), HasSubstr("no folder"));
  EXPECT_THAT(why({{.name = "a", .path = "/"}, {.name = "a", .path = "/"}}),
              HasSubstr("two roots"));
  EXPECT_THAT(why({{.path = "/"}, {.name = "a/b", .path = "/"}}), HasSubstr("name"));
  spec_.roots.front().is_writable = false;
  EXPECT_EQ(make_file_tools(spec_).value().size(), 3U);
  const auto all = make_file_tools(spec_);
  for (const ToolSpec& made : *all) {
    EXPECT_TRUE(JsonSchema::compile(parse_json(made.tool.input_schema).value()));
  }
}

TEST_F(FileToolsTest, VerifyKnowsAWriteByItsKey) {
  const std::string args = R"({"path": "a.txt", "content": "new"})";
  EXPECT_EQ(verify("write_file", args, future), "not landed") << "nothing changed since";
  call("write_file", args);
  EXPECT_THAT(verify("write_file", args, past), StartsWith("landed: written: 3 bytes"));
  put("root/a.txt", "changed in place by somebody");
  EXPECT_THAT(verify("write_file", args, past), StartsWith("landed: written: 28 bytes"));
  const std::string edit = R"({"path": "b.txt", "old_text": "x", "new_text": "x\ny"})";
  put("root/b.txt", "x\n");
  EXPECT_EQ(verify("edit_file", edit, future), "not landed");
  call("edit_file", edit);
  EXPECT_THAT(verify("edit_file", edit, past), StartsWith("landed"));
}

TEST_F(FileToolsTest, VerifyKnowsWhatWasNotPutInPlace) {
  const std::string args = R"({"path": "a.txt", "content": "new"})";
  // As a death before the rename leaves it: written, under a name of its own.
  put("root/.perdure-" + to_hex(sha256("key")).substr(0, 24) + ".tmp", "ne");
  EXPECT_EQ(verify("write_file", args, past), "not landed");
  call("write_file", args);
  EXPECT_THAT(verify("write_file", args, past), StartsWith("landed"))
      << "and what was left is gone";
  EXPECT_EQ(verify("write_file", R"({"path": "no/folder", "content": ""})", past), "not landed");
}

TEST_F(FileToolsTest, VerifyDoesNotGuess) {
  const std::string args = R"({"path": "a.txt", "content": "new"})";
  EXPECT_THAT(verify("write_file", args, past), StartsWith("unclear")) << "changed, and not by us";
  put("root/a.txt", "new");
  EXPECT_THAT(verify("write_file", args, past), StartsWith("landed")) << "it is as it should be";
  const std::string edit = R"({"path": "a.txt", "old_text": "n", "new_text": "nn"})";
  EXPECT_THAT(verify("edit_file", edit, past), StartsWith("unclear"));
}

// The kernel's clock for files lags by up to a tick behind the one that calls are dispatched by.
TEST_F(FileToolsTest, VerifyAllowsForTheKernelsClock) {
  const std::string args = R"({"path": "a.txt", "content": "new"})";
  struct stat status{};
  ASSERT_EQ(::stat(folder_.file("root/a.txt").c_str(), &status), 0);
  const Timestamp changed(
      std::chrono::duration_cast<Duration>(std::chrono::seconds(status.st_ctim.tv_sec) +
                                           std::chrono::nanoseconds(status.st_ctim.tv_nsec)));
  EXPECT_THAT(verify("write_file", args, changed + Duration(10)), StartsWith("unclear"));
  EXPECT_EQ(verify("write_file", args, changed + Duration(1000)), "not landed");
}

// As anybody who may write in the folder, and may not give files away.
TEST_F(FileToolsTest, NobodyReadsWhatOnlyItsOwnerCould) {
  put("root/private", "PRIVATE");
  fs::permissions(folder_.path() / "root/private", fs::perms(0640));
  fs::permissions(folder_.path() / "root", fs::perms(0777));
  fs::permissions(folder_.path(), fs::perms(0755));
  const ToolSpec made = tool("write_file");
  const Json args = parse_json(R"({"path": "private", "content": "new"})").value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::umask(0);
    const bool is_root = ::geteuid() == 0;
    const bool is_dropped =
        !is_root || (::setgroups(0, nullptr) == 0 && ::setgid(65534) == 0 && ::setuid(65534) == 0);
    ::_exit(is_dropped && call(made, args).starts_with("written") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(get("root/private"), "new");
  struct stat now{};
  ASSERT_EQ(::stat(folder_.file("root/private").c_str(), &now), 0);
  const mode_t expected = ::geteuid() == 0 ? 0600 : 0640;
  EXPECT_EQ(now.st_mode & 0777U, expected) << "another group is as all others were";
}

}  // namespace
}  // namespace perdure
