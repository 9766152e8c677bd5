// The shell tool in a real sandbox, where there can be none, and without one.

#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <netinet/in.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/fifo.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ShellTest : public ::testing::Test {
 protected:
  ShellTest() {
    fs::create_directories(folder_.path() / "work");
    fs::create_directories(folder_.path() / "reference");
    fs::create_directories(folder_.path() / "state");
    std::ofstream(folder_.path() / "reference/file") << "reference\n";
    std::ofstream(folder_.path() / "private") << "PRIVATE\n";
    spec_.roots = {{.path = folder_.file("work"), .is_writable = true},
                   {.path = folder_.file("reference")}};
    spec_.state_folder = folder_.file("state");
    spec_.grace = Duration(100);
  }
  std::string run(const std::string& command, const std::stop_token& stop = {},
                  const ToolProgress& progress = {}, Position call = 1) {
    const auto tool = make_shell_tool(spec_);
    const Json args(Json::Object{{"command", command}});
    const ToolOutcome outcome = tool->tool.run({.session = SessionId::parse("s").value(),
                                                .call = call,
                                                .args = args,
                                                .stop = stop,
                                                .progress = progress});
    if (const auto* done = std::get_if<Succeeded>(&outcome))
      return (done->is_error ? "error: " : "done: ") + done->content;
    if (const auto* failed = std::get_if<Failed>(&outcome)) return "failed: " + failed->why;
    return "doubt: " + std::get<Doubtful>(outcome).why;
  }
  bool is_there(const std::string& name) {
    return fs::exists(fs::symlink_status(folder_.path() / name));
  }
  std::string text_of(const std::string& name) {
    std::ifstream file(folder_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempFolder folder_;
  ShellSpec spec_;
};

TEST_F(ShellTest, RunsCommandsInItsFirstRoot) {
  EXPECT_EQ(run("pwd; echo two > x; cat x"), "done: " + folder_.file("work") + "\ntwo\n");
  EXPECT_EQ(text_of("work/x"), "two\n");
}

TEST_F(ShellTest, TellsTheLinesOfItsCommand) {
  std::vector<std::string> heard;
  const ToolProgress progress([&](std::string_view line) { heard.emplace_back(line); });
  EXPECT_EQ(run("echo one; echo two >&2", {}, progress), "done: one\n\n[stderr]\ntwo\n");
  EXPECT_THAT(heard, ::testing::UnorderedElementsAre("one", "two"));
}

TEST_F(ShellTest, AnyExitCodeIsAnAnswer) {
  EXPECT_EQ(run("echo out; echo err >&2; exit 75"), "error: exit code 75\nout\n\n[stderr]\nerr\n");
  EXPECT_EQ(run("true"), "done: ");
}

TEST_F(ShellTest, WritesNowhereElse) {
  EXPECT_THAT(run("echo x > " + folder_.file("reference/file")), HasSubstr("Read-only"));
  EXPECT_THAT(run("echo x > /etc/perdure-planted"), HasSubstr("Read-only"));
  EXPECT_THAT(run("echo x > /usr/bin/perdure-planted"), HasSubstr("Read-only"));
  EXPECT_THAT(run("mount -o remount,rw / && echo x > /etc/perdure-planted; echo $?"),
              Not(StartsWith("done: 0")));
  EXPECT_EQ(run("cat " + folder_.file("reference/file")), "done: reference\n");
  EXPECT_FALSE(fs::exists("/etc/perdure-planted"));
  EXPECT_EQ(run("echo x > /tmp/perdure-planted-here; cat /tmp/perdure-planted-here"), "done: x\n");
  EXPECT_FALSE(fs::exists("/tmp/perdure-planted-here"));
}

TEST_F(ShellTest, SeesNeitherWhatIsHiddenNorOtherProcessesNorOurEnvironment) {
  ::setenv("PLANTED_API_KEY", "sk-planted", 1);
  fs::create_directories(folder_.path() / "work/hidden");
  std::ofstream(folder_.path() / "work/hidden/x") << "PRIVATE\n";
  std::ofstream(folder_.path() / "work/.env") << "PRIVATE\n";
  spec_.hidden = {folder_.file("work/hidden"), folder_.file("work/.env")};
  EXPECT_THAT(run("cat .env hidden/x ../private; ls ../state; true"), Not(HasSubstr("PRIVATE")));
  EXPECT_THAT(run("cat /proc/*/environ | tr '\\0' '\\n'"), Not(HasSubstr("sk-planted")));
  EXPECT_THAT(run("ls -d /proc/[0-9]* | wc -l"), ::testing::MatchesRegex("done: [1-9]\n"));
  ::unsetenv("PLANTED_API_KEY");
}

TEST_F(ShellTest, MovesNothingThatIsHiddenOrOnlyRead) {
  fs::create_directories(folder_.path() / "work/a/b");
  std::ofstream(folder_.path() / "work/a/b/key") << "PRIVATE\n";
  std::ofstream(folder_.path() / "work/agent.yaml") << "name: a\n";
  spec_.hidden = {folder_.file("work/a/b/key")};
  spec_.read_only = {folder_.file("work/agent.yaml")};
  for (const std::string command :
       {"mv a c", "mv a/b c", "mv a/b/key c", "rm -rf a", "ln a/b/key c", "echo x > agent.yaml",
        "rm -f agent.yaml", "mv agent.yaml c", "echo x > d; mv -f d agent.yaml"}) {
    EXPECT_THAT(run(command), StartsWith("error: ")) << command;
    EXPECT_THAT(run("cat a/b/key c c/key c/b/key 2>&1"), Not(HasSubstr("PRIVATE"))) << command;
  }
  EXPECT_EQ(text_of("work/a/b/key"), "PRIVATE\n");
  EXPECT_EQ(text_of("work/agent.yaml"), "name: a\n");
  EXPECT_EQ(run("cat agent.yaml; echo x > a/b/other; mkdir a/new && cat a/b/other"),
            "done: name: a\nx\n");
}

TEST_F(ShellTest, HidesWhatLinksLeadToAndWhatIsHiddenTwice) {
  fs::create_directories(folder_.path() / "work/hidden");
  std::ofstream(folder_.path() / "work/hidden/key") << "PRIVATE\n";
  std::ofstream(folder_.path() / "work/token") << "PRIVATE\n";
  fs::create_symlink(folder_.path() / "work", folder_.path() / "link");
  fs::create_symlink("token", folder_.path() / "work/to-token");
  spec_.roots.front().path = folder_.file("link");
  spec_.hidden = {folder_.file("link/hidden"), folder_.file("work/hidden/key"),
                  folder_.file("link/to-token"), folder_.file("work/not-there")};
  spec_.read_only = {folder_.file("link/hidden/key")};
  const std::string said =
      run("cat token to-token hidden/key; ls -A hidden; echo x > own; cat own");
  EXPECT_THAT(said, Not(HasSubstr("PRIVATE")));
  EXPECT_THAT(said, HasSubstr("x\n"));
  EXPECT_FALSE(fs::exists(folder_.path() / "work/not-there"));
}

// What is hidden cannot be made either, and nothing is left of what stood in for it.
TEST_F(ShellTest, MakesNothingThatIsHidden) {
  fs::create_directories(folder_.path() / "work/a");
  fs::create_symlink("nowhere", folder_.path() / "work/link");
  spec_.hidden = {folder_.file("work/.perdure"), folder_.file("work/store.db-journal"),
                  folder_.file("work/a/b/c/key")};
  for (const std::string command :
       {"mkdir .perdure", "echo x > d && mv -f d .perdure", "ln -sfT a .perdure", "rm -f .perdure",
        "echo x > d && mv -f d store.db-journal", "mkdir -p a/b/c", "chmod 700 a/b", "rmdir a/b",
        "mv a e"}) {
    EXPECT_THAT(run(command), StartsWith("error: ")) << command;
    EXPECT_THAT(run("ls -A a/b; test -d .perdure || test -s store.db-journal"),
                "error: exit code 1\n")
        << command;
  }
  for (const std::string name : {"work/.perdure", "work/store.db-journal", "work/a/b"}) {
    EXPECT_FALSE(is_there(name)) << name;
  }
  spec_.hidden = {folder_.file("work/link")};
  EXPECT_THAT(run("rm link && mkdir link"), StartsWith("failed: "));
}

// The mounts of one command are not undone by the end of another; a killed process's are cleared up.
TEST_F(ShellTest, KeepsStandInsWhileACommandNeedsThem) {
  spec_.hidden = {folder_.file("work/.perdure")};
  const Fifo started(folder_.file("work/started"));
  const Fifo go(folder_.file("work/go"));
  auto first = std::async(std::launch::async, [&] {
    return run("echo ready > started; read word < go; mkdir .perdure");
  });
  EXPECT_EQ(started.read_line(), "ready");
  EXPECT_EQ(run("true", {}, {}, 2), "done: ");
  EXPECT_TRUE(is_there("work/.perdure"));
  go.write_line("go");
  EXPECT_THAT(first.get(), StartsWith("error: "));
  EXPECT_FALSE(is_there("work/.perdure"));

  std::ofstream(folder_.path() / "state/stand-ins")
      << folder_.file("work/left") << '\0' << folder_.file("work/filled") << '\0';
  for (const std::string name : {"work/left", "work/filled"}) {
    std::ofstream(folder_.path() / name) << (name == "work/filled" ? "mine" : "");
    fs::permissions(folder_.path() / name, fs::perms::owner_read);
  }
  EXPECT_EQ(run("true"), "done: ");
  EXPECT_FALSE(is_there("work/left"));
  EXPECT_EQ(text_of("work/filled"), "mine");
}

TEST_F(ShellTest, ARootThatIsOnlyReadStaysSoBesideWhatIsHidden) {
  fs::create_directories(folder_.path() / "work/a/reference");
  std::ofstream(folder_.path() / "work/a/key") << "PRIVATE\n";
  spec_.roots = {{.path = folder_.file("work"), .is_writable = true},
                 {.path = folder_.file("work/a/reference")}};
  spec_.hidden = {folder_.file("work/a/key")};
  EXPECT_THAT(run("echo x > a/reference/file"), HasSubstr("Read-only"));
}

TEST_F(ShellTest, HasNoNetworkUnlessItIsAllowed) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: as sockets have it.
  ASSERT_EQ(::bind(server, any, sizeof(address)), 0);
  ASSERT_EQ(::listen(server, 5), 0);
  socklen_t size = sizeof(address);
  ::getsockname(server, any, &size);
  const std::string connect =
      "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", " +
      std::to_string(ntohs(address.sin_port)) + ")); print(\"connected\")' 2>&1";
  EXPECT_THAT(run(connect), StartsWith("error: exit code 1"));
  spec_.has_network = true;
  EXPECT_EQ(run(connect), "done: connected\n");
  ::close(server);
}

TEST_F(ShellTest, HasNoSocketOfTheMachine) {
  EXPECT_EQ(run("ls -A /run /var/run/"), "done: /run:\n\n/var/run/:\n");
}

TEST_F(ShellTest, StoppedItEndsWithAllItStarted) {
  const Fifo started(folder_.file("work/fifo"));
  std::stop_source stop;
  std::string outcome;
  {
    const std::jthread thread([&] {
      outcome =
          run("trap '' TERM; (trap '' TERM; exec sleep 98765) & echo ready > fifo; "
              "while :; do sleep 1; done",
              stop.get_token());
    });
    EXPECT_EQ(started.read_line(), "ready");
    stop.request_stop();
  }
  EXPECT_THAT(outcome, StartsWith("doubt: the command was ended"));
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(words, Not(HasSubstr("98765")));
  }
}

TEST_F(ShellTest, WhereThereCanBeNoSandboxItRefuses) {
  std::ofstream(folder_.path() / "no-bwrap")
      << "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
  fs::permissions(folder_.path() / "no-bwrap", fs::perms(0755));
  spec_.bubblewrap = folder_.file("no-bwrap");
  const std::string outcome = run("touch ran");
  EXPECT_THAT(outcome, StartsWith("failed: Commands are run in a sandbox only"));
  EXPECT_THAT(outcome, HasSubstr("No permissions to create new namespace"));
  EXPECT_THAT(outcome, HasSubstr("sandbox: none"));
  EXPECT_FALSE(fs::exists(folder_.path() / "work/ran"));
  spec_.bubblewrap = "no-such-bwrap";
  EXPECT_THAT(run("touch ran"), HasSubstr("there is no program no-such-bwrap"));
  EXPECT_FALSE(fs::exists(folder_.path() / "work/ran"));
}

// Stands in for bubblewrap: does `first` when it is run for the first time, then runs the command.
std::string stand_in(const TempFolder& folder, const std::string& first) {
  std::ofstream(folder.path() / "stand-in")
      << "#!/bin/sh\nif mkdir " << folder.file("first") << " 2>/dev/null; then " << first
      << "; fi\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";
  fs::permissions(folder.path() / "stand-in", fs::perms(0755));
  return folder.file("stand-in");
}

TEST_F(ShellTest, ATrialThatWasKilledSaysNothingAboutTheNextOne) {
  spec_.bubblewrap = stand_in(folder_, "kill -9 $$");
  const auto tool = make_shell_tool(spec_);
  const Json args(Json::Object{{"command", "echo here"}});
  const CallContext context{.session = SessionId::parse("s").value(), .call = 1, .args = args};
  const ToolOutcome first = tool->tool.run(context);
  ASSERT_TRUE(std::holds_alternative<Failed>(first));
  EXPECT_THAT(std::get<Failed>(first).why, HasSubstr("it may be called again"));
  const ToolOutcome second = tool->tool.run(context);
  ASSERT_TRUE(std::holds_alternative<Succeeded>(second)) << std::get<Failed>(second).why;
  EXPECT_EQ(std::get<Succeeded>(second).content, "here\n");
}

TEST_F(ShellTest, ATrialDoesNotEndAnother) {
  const Fifo started(folder_.file("started"));
  const Fifo go(folder_.file("go"));
  spec_.bubblewrap =
      stand_in(folder_, "echo ready > " + started.path() + "; read go < " + go.path());
  auto first = std::async(std::launch::async, [&] { return run("echo one"); });
  EXPECT_EQ(started.read_line(), "ready");
  EXPECT_EQ(run("echo two"), "done: two\n");
  go.write_line("go");
  EXPECT_EQ(first.get(), "done: one\n");
}

TEST_F(ShellTest, WithoutASandboxItRunsAsWeDo) {
  spec_.sandbox = Sandbox::none;
  spec_.bubblewrap = "no-such-bwrap";
  EXPECT_EQ(run("pwd; echo y > ../free; cat ../private"),
            "done: " + folder_.file("work") + "\nPRIVATE\n");
  EXPECT_EQ(text_of("free"), "y\n");
}

TEST_F(ShellTest, IsMadeOfWholePathsOnly) {
  spec_.roots.front().path = "relative";
  EXPECT_FALSE(make_shell_tool(spec_));
  spec_.roots.clear();
  EXPECT_FALSE(make_shell_tool(spec_));
  EXPECT_FALSE(make_shell_tool({.roots = {{.path = "/"}}}));
}

TEST_F(ShellTest, WhatIsLeftOfACommandIsEnded) {
  spec_.sandbox = Sandbox::none;
  const Fifo started(folder_.file("started"));
  std::stop_source stop;
  auto said = std::async(std::launch::async, [&] {
    return run("echo $$ > " + started.path() + "; exec sleep 1000", stop.get_token());
  });
  const pid_t command = std::stoi(started.read_line());

  const auto tool = make_shell_tool(spec_);
  const auto another = SessionId::parse("another").value();
  EXPECT_TRUE(tool->tool.end_leftovers({.session = another, .call = 1}));
  EXPECT_FALSE(has_ended(command, 0)) << "it is of another session";
  EXPECT_TRUE(tool->tool.end_leftovers({.session = SessionId::parse("s").value(), .call = 1}));

  EXPECT_TRUE(has_ended(command, 0));
  stop.request_stop();
  EXPECT_THAT(said.get(), StartsWith("doubt: "));
}

}  // namespace
}  // namespace perdure
