// What an agent file says, seen in how its agent runs.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "agent/api/agent_file.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

class AgentRunTest : public testing::Test {
 protected:
  void script(const std::string& responses) {
    std::ofstream(folder_.path() / "script.json") << R"({"responses": [)" << responses << "]}";
  }

  /// A process with the agent of a file with these lines.
  void start(const std::string& lines) {
    session.reset();
    agent.reset();
    std::ofstream(folder_.path() / "agent.yaml")
        << "name: a\nmodel: {provider: scripted, script: script.json}\n"
        << lines;
    const auto file = must(read_agent_file(folder_.path() / "agent.yaml"));
    const AgentPlace place{
        .environment = [](const std::string&) { return std::optional<std::string>(); },
        .state_folder = (folder_.path() / "state").string()};
    auto spec = must(make_agent_spec(file, place, {.clock = clock, .ids = ids}));
    agent = must(Agent::start(
        *store, std::move(spec),
        {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  }

  TurnReport run_under(const std::string& lines) {
    start(lines);
    session = must(agent->begin());
    return must(session->run(user_says("go"), heard));
  }

  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> store = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  std::unique_ptr<Agent> agent;
  std::optional<AgentSession> session;
  Listener heard;

 private:
  TempFolder folder_;
};

TEST_F(AgentRunTest, ItsLimitsEndATurn) {
  script(asking_for({"note_list"}, 1) + "," + asking_for({"note_list"}, 2) + "," + saying("Done."));
  const std::string notes = "tools: {notes: true}\n";
  EXPECT_EQ(run_under(notes).stop, TurnStop::completed);
  EXPECT_EQ(run_under(notes + "limits: {iterations: 2}").stop, TurnStop::max_iterations);
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<CallTold>(event)) clock.advance(std::chrono::seconds(10));
  };
  EXPECT_EQ(run_under(notes + "limits: {time: 5s}").stop, TurnStop::deadline);
  EXPECT_EQ(run_under(notes + "limits: {time: 5m}").stop, TurnStop::completed);
}

TEST_F(AgentRunTest, ItsBudgetAndPricesHoldAndItWarnsWhenTheFileSays) {
  script(R"({"text": "Hi.", "usage": {"in": 60000, "out": 1}})");
  const std::string prices = "prices: {scripted: {input: 1, output: 1}}\n";
  run_under(prices + "budget: {dollars: 0.1}");
  EXPECT_TRUE(heard.all<BudgetWarning>().empty()) << "80 % without a word";
  run_under(prices + "budget: {dollars: 0.1, warn_percent: 60}");
  ASSERT_EQ(heard.all<BudgetWarning>().size(), 1U);
  EXPECT_EQ(heard.all<BudgetWarning>()[0].used_micros, 60'001);
  EXPECT_EQ(heard.all<BudgetWarning>()[0].limit_micros, 100'000);
  EXPECT_EQ(run_under(prices + "budget: {dollars: 0.000001}").stop, TurnStop::budget);
}

TEST_F(AgentRunTest, ItsPermissionsAreThoseOfItsCalls) {
  script(R"({"calls": [{"name": "note_list", "args": {}}]},)" + saying("Done."));
  const std::string notes = "tools: {notes: true}\n";
  EXPECT_EQ(run_under(notes + "permissions: {tools: {note_list: ask}}").stop, TurnStop::waiting);
  EXPECT_EQ(run_under(notes + "permissions: {tools: {note_list: deny}}").stop, TurnStop::completed);
  EXPECT_THAT(heard.all<CallTold>().back().result.content, HasSubstr("not_permitted"));
  script(R"({"calls": [{"name": "ask_user", "args": {"question": "Why?"}}]},)" + saying("Done."));
  EXPECT_EQ(run_under("tools: {ask_user: true}").stop, TurnStop::waiting);
}

TEST_F(AgentRunTest, AboutACallInDoubtItDoesWhatTheFileSays) {
  script(asking_for({"pay"}) + "," + saying("Done."));
  const std::string pay_tool = R"(permissions: {mutate: allow}
tools: {exec: {pay: {description: d, command: [sh, -c, "exit 9"], side_effects: [mutate]}}}
)";
  EXPECT_EQ(run_under(pay_tool).stop, TurnStop::needs_attention);
  EXPECT_EQ(run_under(pay_tool + "on_doubt: tell_model").stop, TurnStop::completed);
}

TEST_F(AgentRunTest, ItsVersionsAreNamedAsTheFileSays) {
  script(saying("Done."));
  run_under("");
  EXPECT_EQ(must(session->session().versions()).size(), 1U);
  run_under("cadence: {turns: 10, time: 1h}");
  EXPECT_TRUE(must(session->session().versions()).empty());
}

TEST_F(AgentRunTest, AChangedFileIsNoticedAndARaisedBudgetIsNone) {
  script(saying("Hi.") + "," + saying("Still here."));
  const std::string prices = "prices: {scripted: {input: 1, output: 1}}\n";
  run_under(prices + "budget: {dollars: 0.1}\n");
  const SessionId id = session->session().id();

  start(prices + "budget: {dollars: 5}\non_change: refuse");
  EXPECT_TRUE(agent->resume(id));
  const std::string other = "system_prompt: Be kind.\n";
  start(prices + other + "on_change: refuse");
  EXPECT_EQ(agent->resume(id).error().subject, "agent_refused");
  start(prices + other);
  const auto asked = agent->resume(id);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().subject, "agent_changed");
  EXPECT_THAT(asked.error().message, HasSubstr("system_prompt"));
  start(prices + other + "on_change: continue");
  session = std::move(must(agent->resume(id)).session);
  EXPECT_EQ(session->session().state().setup->system_prompt, "Be kind.");
  EXPECT_EQ(must(session->run(user_says("there?"), heard)).answer, "Still here.");
}

}  // namespace
}  // namespace perdure
