// An agent's notes as files: written at the end of a run, read at a resume.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stop_token>
#include <string>
#include <utility>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

std::string writing(const std::string& text) {
  return R"({"calls": [{"name": "note_write", "args": {"key": "plan", "text": ")" + text +
         R"("}}], "usage": {"in": 10, "out": 5}})";
}

class LoopNotesTest : public LoopTest {
 protected:
  LoopNotesTest() {
    for (ToolSpec& tool : make_note_tools()) tools.push_back(std::move(tool));
    spec.scratchpad_folder = folder.file("notes");
  }

  [[nodiscard]] fs::path file() const {
    return fs::path(spec.scratchpad_folder) / id->text() / "plan.txt";
  }
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    return in ? std::string(std::istreambuf_iterator<char>(in), {}) : "(none)";
  }

  TempFolder folder;
};

TEST_F(LoopNotesTest, AreFilesAtTheEndOfATurn) {
  script(writing("one") + "," + asking_for({"look"}) + "," + saying("Done."));
  behaviour["look"] = [this](const CallContext&) {
    EXPECT_EQ(text(), "(none)");
    return Succeeded{"seen"};
  };
  begin();
  const TurnReport report = run("go");
  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(report.scratchpad_problem, "");
  EXPECT_EQ(text(), "one");
}

TEST_F(LoopNotesTest, AreFilesAtTheEndOfATurnThatWasStopped) {
  script(writing("one") + "," + asking_for({"look", "look"}) + "," + saying("Done."));
  std::stop_source stop;
  behaviour["look"] = [&](const CallContext&) {
    stop.request_stop();
    return Succeeded{"seen"};
  };
  begin();
  EXPECT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
  EXPECT_EQ(text(), "one");
}

TEST_F(LoopNotesTest, ThatWereEditedByHandAreReadAtAResume) {
  script(writing("one") + "," + saying("Done.") +
         R"(, {"calls": [{"name": "note_read", "args": {"key": "plan"}}]}, )" + saying("Read."));
  begin();
  run("go");
  session.reset();
  std::ofstream(file()) << "theirs";
  restart();
  const auto entries = must(store->log().read(*id, {.channel = "scratchpad"}));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_NE(entries.back().body.bytes().find(R"("by":"outside")"), std::string::npos);
  run("What is the plan?");
  EXPECT_EQ(results().back(), "theirs");
  EXPECT_EQ(text(), "theirs");
}

TEST_F(LoopNotesTest, TheFolderOfADeadProcessIsWrittenByTheNextOne) {
  script(writing("one") + "," + saying("Done.") + "," + writing("two") + "," + saying("Done.") +
         "," + saying("Well."));
  begin();
  run("go");
  // As if it had died before the folder was written.
  spec.scratchpad_folder.clear();
  restart();
  run("go on");
  spec.scratchpad_folder = folder.file("notes");
  EXPECT_EQ(text(), "one");
  restart();
  EXPECT_EQ(must(session->session().find_scratch("plan")), "two");
  run("And?");
  EXPECT_EQ(text(), "two");
}

TEST_F(LoopNotesTest, AFolderThatCannotBeHadIsNamedAndFailsNothing) {
  script(writing("one") + "," + saying("Done."));
  begin();
  std::ofstream(spec.scratchpad_folder) << "in the way";
  const TurnReport report = run("go");
  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_NE(report.scratchpad_problem.find("notes"), std::string::npos);
  session.reset();
  const auto resumed = must(agent->resume(*id));
  EXPECT_NE(resumed.scratchpad_problem, "");
}

}  // namespace
}  // namespace perdure
