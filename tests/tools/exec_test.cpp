// Programs as tools: what they are given, what their end means, and that nothing of them is left.
// Real programs, and such as do not want to end.

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <signal.h>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/fifo.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string text_of(const std::string& path) {
  std::ifstream const file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ExecTest : public ::testing::Test {
 protected:
  ExecSpec shell(const std::string& script) {
    ExecSpec exec{.command = {"sh", "-c", script}};
    exec.spec.tool.name = "t";
    exec.spec.tool.side_effects = SideEffects{.write = true};
    exec.folder = folder_.path().string();
    exec.state_folder = folder_.file("state");
    exec.grace = Duration(200);
    return exec;
  }
  ToolOutcome run(const ExecSpec& exec, const std::stop_token& stop = {},
                  const Json& args = Json::Object{}) {
    const auto tool = make_exec_tool(exec);
    if (!tool) return Doubtful{"not made: " + tool.error().message};
    return tool->tool.run({.session = SessionId::parse("s").value(),
                           .call = 7,
                           .args = args,
                           .key = "k1",
                           .fence = 3,
                           .attempt = 2,
                           .stop = stop});
  }
  std::string words(const ToolOutcome& outcome) {
    if (const auto* done = std::get_if<Succeeded>(&outcome)) {
      return (done->is_error ? "error: " : "done: ") + done->content;
    }
    if (const auto* failed = std::get_if<Failed>(&outcome)) return "failed: " + failed->why;
    if (const auto* never = std::get_if<Never>(&outcome)) return "never: " + never->why;
    return "doubt: " + std::get<Doubtful>(outcome).why;
  }
  std::string run_words(const ExecSpec& exec) { return words(run(exec)); }
  // Runs it on a thread until the script has said its process, then asks it to stop.
  std::string stopped(const ExecSpec& exec, const Fifo& started, std::vector<pid_t>& processes,
                      int count) {
    std::stop_source stop;
    std::string outcome;
    {
      const std::jthread thread([&] { outcome = words(run(exec, stop.get_token())); });
      for (int i = 0; i < count; ++i) processes.push_back(std::atoi(started.read_line().c_str()));
      stop.request_stop();
    }
    return outcome;
  }

  TempFolder folder_;
};

TEST_F(ExecTest, GetsItsArgumentsOnStdinAndAnswersOnStdout) {
  EXPECT_EQ(words(run(shell("cat; echo ' ok'"), {}, parse_json(R"({"a": [1.0, "é"]})").value())),
            "done: {\"a\":[1.0,\"é\"]} ok\n");
}

TEST_F(ExecTest, ItsEnvironmentIsWhatIsSaidAndNothingElse) {
  ::setenv("PLANTED_API_KEY", "sk-planted", 1);
  ExecSpec exec = shell("env | grep -v '^PWD=' | sort");
  exec.environment = {{"MINE", "1"}};
  EXPECT_THAT(
      run_words(exec),
      ::testing::MatchesRegex("done: LANG=C.UTF-8\nMINE=1\nPATH=/usr/local/bin:/usr/bin:/bin\n"
                              "PERDURE_ATTEMPT=2\nPERDURE_CALL=7\nPERDURE_FENCE=3\nPERDURE_KEY=k1\n"
                              "PERDURE_MARK=[0-9a-f]*\nPERDURE_SESSION=s\n"));
  ::unsetenv("PLANTED_API_KEY");
}

TEST_F(ExecTest, ItHasNoDescriptorsButThree) {
  const int opened = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  // Without O_CLOEXEC, and beyond the numbers that a program is given.
  const int planted = ::fcntl(opened, F_DUPFD, 100);
  ::close(opened);
  ASSERT_GE(planted, 100);
  EXPECT_EQ(
      run_words(shell("i=0; while [ $i -lt 200 ]; do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; "
                      "i=$((i+1)); done")),
      "done: 0 1 2 ");
  ::close(planted);
}

TEST_F(ExecTest, ItLeadsASessionOfItsOwnWithoutATerminal) {
  EXPECT_EQ(run_words(shell("cut -d' ' -f5-7 /proc/$$/stat | sed \"s/$$/self/g\"")),
            "done: self self 0\n");
}

TEST_F(ExecTest, ItsExitCodeSaysWhatHappened) {
  ExecSpec exec = shell("exit 0");
  const auto with_code = [&](int code) {
    exec.command = {"sh", "-c", "echo out; echo err >&2; exit " + std::to_string(code)};
    return run_words(exec);
  };
  exec.error_codes = {4};
  exec.nothing_codes = {5};
  EXPECT_EQ(with_code(0), "done: out\n");
  EXPECT_EQ(with_code(75), "failed: out\n\n[stderr]\nerr\n");
  EXPECT_EQ(with_code(76), "never: out\n\n[stderr]\nerr\n");
  EXPECT_EQ(with_code(5), "failed: out\n\n[stderr]\nerr\n");
  EXPECT_EQ(with_code(4), "error: exit code 4\nout\n\n[stderr]\nerr\n");
  EXPECT_EQ(with_code(1), "doubt: the program ended with code 1: err\n");
  EXPECT_THAT(run_words(shell("kill -9 $$")),
              StartsWith("doubt: the program was killed by signal 9"));
}

TEST_F(ExecTest, OfAToolThatOnlyReadsAnyCodeIsAnAnswer) {
  ExecSpec exec = shell("echo no; exit 1");
  exec.spec.tool.side_effects = SideEffects{.read = true};
  EXPECT_EQ(run_words(exec), "error: exit code 1\nno\n");
}

TEST_F(ExecTest, LongOutputIsCutAndSaysSo) {
  ExecSpec exec = shell("i=0; while [ $i -lt 2000 ]; do echo line-$i; i=$((i+1)); done");
  exec.output_bytes_max = 200;
  const std::string outcome = run_words(exec);
  EXPECT_THAT(outcome, StartsWith("done: line-0\nline-1\n"));
  EXPECT_THAT(outcome, HasSubstr("bytes left out"));
  EXPECT_TRUE(outcome.ends_with("line-1999\n"));
  EXPECT_LT(outcome.size(), 300U);
}

TEST_F(ExecTest, ItMayCloseOrIgnoreWhatItIsGiven) {
  const Json args(Json::Object{{"long", std::string(5'000'000, 'x')}});
  EXPECT_EQ(words(run(shell("exec 0<&- 1>&- 2>&-; exit 0"), {}, args)), "done: ");
  EXPECT_EQ(words(run(shell("echo ok"), {}, args)), "done: ok\n");
}

TEST_F(ExecTest, StoppedItEndsWithAllItStartedEvenIfItDoesNotWantTo) {
  const Fifo started(folder_.file("fifo"));
  std::vector<pid_t> processes;
  const ExecSpec exec = shell(
      "trap '' TERM INT HUP; (trap '' TERM; sh -c 'echo $$ > fifo; while :; do :; done') & "
      "echo $$ > fifo; while :; do :; done");
  EXPECT_THAT(stopped(exec, started, processes, 2), StartsWith("doubt: the program was ended"));
  for (const pid_t process : processes) EXPECT_TRUE(has_ended(process, 0)) << process;
}

TEST_F(ExecTest, StoppedItMayEndByItself) {
  const Fifo started(folder_.file("fifo"));
  std::vector<pid_t> processes;
  ExecSpec exec = shell("trap 'echo bye; exit 75' TERM; echo $$ > fifo; while :; do :; done");
  exec.grace = Duration(20'000);
  EXPECT_EQ(stopped(exec, started, processes, 1), "failed: bye\n");
}

TEST_F(ExecTest, StoppedWhileItFillsItsOutputItEnds) {
  const Fifo started(folder_.file("fifo"));
  std::vector<pid_t> processes;
  const ExecSpec exec = shell("echo $$ > fifo; exec yes");
  EXPECT_THAT(stopped(exec, started, processes, 1), StartsWith("doubt: "));
}

TEST_F(ExecTest, ADaemonThatItLeavesIsEnded) {
  const Fifo started(folder_.file("fifo"));
  const std::string outcome = run_words(
      shell("setsid sh -c 'setsid sh -c \"echo \\$\\$ > fifo; while :; do :; done\" & exit 0'; "
            "read go < fifo; echo $go > daemon; echo ok"));
  EXPECT_EQ(outcome, "done: ok\n");
  const int daemon = std::atoi(text_of(folder_.file("daemon")).c_str());
  ASSERT_GT(daemon, 1);
  EXPECT_TRUE(has_ended(daemon, 0));
}

TEST_F(ExecTest, WhatHidesFromUsDoesNotHoldUsUp) {
  const Fifo started(folder_.file("fifo"));
  const std::string outcome = run_words(
      shell("env -i setsid sh -c 'echo $$ > fifo; exec sleep 1000' & read go < fifo; echo $go"));
  const int hidden = std::atoi(outcome.substr(outcome.find(' ')).c_str());
  ASSERT_GT(hidden, 1);
  EXPECT_EQ(::kill(hidden, SIGKILL), 0);
}

TEST_F(ExecTest, WithoutARecordItDoesNotStart) {
  ExecSpec const exec = shell("touch ran");
  std::ofstream(folder_.file("state")) << "a file where the folder should be";
  EXPECT_THAT(run_words(exec), StartsWith("failed: The program did not start"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ran")));
}

TEST_F(ExecTest, NoRecordIsLeftOfWhatEnded) {
  EXPECT_EQ(run_words(shell("ls state | wc -l")), "done: 1\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("state")));
}

TEST_F(ExecTest, ItIsVerifiedByAProgram) {
  ExecSpec exec = shell("exit 1");
  const Json args(Json::Object{{"n", 1}});
  const auto verdict = [&](const std::string& script) -> std::string {
    exec.verify = {"sh", "-c", script};
    const auto tool = make_exec_tool(exec);
    const Verdict said = tool->tool.verify({.args = args, .key = "k1-4", .attempt = 3});
    if (const auto* landed = std::get_if<Landed>(&said)) return "landed: " + landed->content;
    if (const auto* unclear = std::get_if<CannotTell>(&said)) return "unclear: " + unclear->why;
    return "not landed";
  };
  EXPECT_EQ(verdict("cat; echo \" $PERDURE_KEY $PERDURE_ATTEMPT\""), "landed: {\"n\":1} k1-4 3\n");
  EXPECT_EQ(verdict("exit 75"), "not landed");
  EXPECT_THAT(verdict("exit 1"), StartsWith("unclear: "));
  EXPECT_THAT(verdict("kill -9 $$"), StartsWith("unclear: "));
}

TEST_F(ExecTest, AToolThatCannotBeMadeIsRefusedAtOnce) {
  const auto why = [](const ExecSpec& exec) {
    const auto tool = make_exec_tool(exec);
    return tool ? "made" : tool.error().message;
  };
  ExecSpec exec = shell("");
  exec.command = {"no-such-program"};
  EXPECT_THAT(why(exec), HasSubstr("tool t: there is no program no-such-program"));
  exec.command = {"./relative"};
  EXPECT_THAT(why(exec), HasSubstr("whole path"));
  exec.command = {};
  EXPECT_THAT(why(exec), HasSubstr("empty"));
  exec = shell("");
  exec.environment = {{"PERDURE_KEY", "x"}};
  EXPECT_THAT(why(exec), HasSubstr("set by the dispatcher"));
  exec = shell("");
  for (const int code : {0, 75, 76}) {
    exec.error_codes = {code};
    EXPECT_THAT(why(exec), HasSubstr("has its meaning"));
  }
  exec = shell("");
  exec.state_folder = "";
  EXPECT_THAT(why(exec), HasSubstr("state folder"));
}

// The program waits until its lines were heard.
TEST_F(ExecTest, LinesOfBothOutputsAreToldWhileItRuns) {
  const Fifo go(folder_.file("go"));
  std::vector<std::string> heard;
  const ToolProgress progress([&](std::string_view line) {
    heard.emplace_back(line);
    if (heard.size() == 2) go.write_line("go");
  });
  const auto tool = make_exec_tool(
      shell("echo one; echo two >&2; timeout 20 head -n 1 go || exit 9; printf three"));
  const Json none = Json::Object{};

  const ToolOutcome outcome = tool->tool.run(
      {.session = SessionId::parse("s").value(), .args = none, .progress = progress});

  EXPECT_EQ(words(outcome), "done: one\ngo\nthree");
  EXPECT_THAT(heard, ::testing::UnorderedElementsAre("one", "two", "go", "three"));
}

}  // namespace
}  // namespace perdure
