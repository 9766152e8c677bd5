// A session is resumed, and its agent is not the one that it was begun with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto first_digest = "model 1\ntools 1\n";
constexpr auto second = "model 1\ntools 2\n";

class ChangedAgentTest : public LoopTest {
 protected:
  /// A session of the first agent: one call was made, another one is left.
  void begin_with_a_call_left() {
    spec.digest = first_digest;
    script(asking_for({"pay", "pay"}) + "," + saying("Done."));
    std::stop_source stop;
    behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
      stop.request_stop();
      return Succeeded{"paid"};
    };
    begin();
    ASSERT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
    ASSERT_EQ(calls().at(1).state, CallState::intended);
    behaviour.clear();
  }

  /// The next process has the second agent.
  void change(OnChange on_change) {
    spec.digest = second;
    spec.on_change = on_change;
    spec.setup.system_prompt = "Be briefer.";
    start();
  }

  void take_up(const ResumeOptions& options = {}) {
    session = std::move(must(agent->resume(*id, options)).session);
  }

  [[nodiscard]] std::vector<AgentChange> changes() const {
    std::vector<AgentChange> found;
    for (const Entry& entry : must(store->log().read(*id, {.channel = "origin"}))) {
      if (entry.kind == "agent") found.push_back(must(agent_change_from_json(entry.body.bytes())));
    }
    return found;
  }
};

TEST_F(ChangedAgentTest, TheSameAgentGoesOnWithoutAWord) {
  begin_with_a_call_left();
  spec.on_change = OnChange::refuse;
  restart();
  EXPECT_TRUE(changes().empty());
  EXPECT_EQ(go_on().stop, TurnStop::completed);
}

TEST_F(ChangedAgentTest, WhereItIsAskedItFailsAndNamesThePartsUntilSomebodyAccepts) {
  begin_with_a_call_left();
  change(OnChange::ask);

  const auto refused = agent->resume(*id);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().subject, "agent_changed");
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("tools"), Not(HasSubstr("model"))));

  auto accepted = must(agent->resume(*id, {.accepted_by = "ann"}));
  EXPECT_THAT(accepted.changed, ElementsAre("tools"));
  session = std::move(accepted.session);
  EXPECT_THAT(changes(),
              ElementsAre(AgentChange{.agent_digest = second, .parts = {"tools"}, .who = "ann"}));
  EXPECT_EQ(go_on().stop, TurnStop::completed);

  restart();
  EXPECT_EQ(changes().size(), 1U) << "it is that agent's session now";
}

TEST_F(ChangedAgentTest, ARefusalIsNotOverruled) {
  begin_with_a_call_left();
  change(OnChange::refuse);

  const auto refused = agent->resume(*id, {.accepted_by = "ann"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().subject, "agent_refused");
  EXPECT_THAT(refused.error().message, HasSubstr("tools"));
  EXPECT_TRUE(changes().empty());
}

TEST_F(ChangedAgentTest, WhereItGoesOnTheLogSaysSoAndTheModelGetsTheNewSetup) {
  begin_with_a_call_left();
  change(OnChange::go_on);

  take_up();

  EXPECT_THAT(changes(), ElementsAre(AgentChange{.agent_digest = second, .parts = {"tools"}}));
  EXPECT_EQ(state().setup->system_prompt, "Be briefer.");
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_F(ChangedAgentTest, NothingIsTakenOverOrRunBeforeItIsAccepted) {
  begin_with_a_call_left();
  const auto row_before = row();
  const auto head = state().head;
  // The owner lives, and would be in the way of whoever wants the lease.
  const auto first_agent = std::move(agent);
  const auto held = std::move(session);
  change(OnChange::ask);

  EXPECT_EQ(agent->resume(*id).error().subject, "agent_changed");

  EXPECT_EQ(row(), row_before);
  EXPECT_EQ(held->session().state().head, head);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(calls().at(1).state, CallState::intended);
}

TEST_F(ChangedAgentTest, CallsThatWereLeftGoByTheRulesOfTheNewAgent) {
  begin_with_a_call_left();
  spec.permissions.mutate = Permit::deny;
  change(OnChange::ask);

  take_up({.accepted_by = "ann"});

  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_THAT(results().at(1), HasSubstr("not_permitted"));
}

TEST_F(ChangedAgentTest, CallsThatWereLeftAreWatchedAndCanBeStopped) {
  begin_with_a_call_left();
  heard.events.clear();
  restart();
  EXPECT_EQ(runs["pay"], 1) << "to take a session up runs nothing";
  std::stop_source stop;
  stop.request_stop();

  EXPECT_EQ(run(std::nullopt, stop.get_token()).stop, TurnStop::interrupted);
  EXPECT_EQ(runs["pay"], 1);

  EXPECT_EQ(go_on().stop, TurnStop::completed);
  ASSERT_EQ(heard.all<CallStarted>().size(), 1U);
  EXPECT_EQ(heard.all<CallStarted>()[0].tool, "pay");
}

TEST_F(ChangedAgentTest, ASessionOfNoKnownAgentDiffersInAllParts) {
  begin();
  change(OnChange::go_on);
  take_up();
  EXPECT_THAT(changes().at(0).parts, ElementsAre("model", "tools"));
}

TEST_F(ChangedAgentTest, AnAgentWithoutADigestTakesUpAnySession) {
  begin_with_a_call_left();
  spec.digest.clear();
  restart();
  EXPECT_TRUE(changes().empty());
  EXPECT_EQ(state().setup->system_prompt, "Be brief.") << "sessions keep theirs";
}

TEST_F(ChangedAgentTest, AForkIsOfTheAgentOfItsParent) {
  begin_with_a_call_left();
  const SessionId fork = must(agent->runtime().fork(*id, Point::head())).id;
  change(OnChange::ask);
  EXPECT_EQ(agent->resume(fork).error().subject, "agent_changed");
  EXPECT_TRUE(agent->resume(fork, {.accepted_by = "ann"}));
}

// Another program may have made it, or the entry that said so is damaged.
TEST_F(ChangedAgentTest, ASessionThatSaysNothingOfItsAgentIsAChangedOne) {
  spec.digest = first_digest;
  start();
  const SessionId bare = mint<SessionTag>(random_ids());
  must(store->sessions().create({.id = bare}));

  const auto refused = agent->resume(bare);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().subject, "agent_changed");
  EXPECT_THAT(must(agent->resume(bare, {.accepted_by = "ann"})).changed,
              ElementsAre("model", "tools"));
}

}  // namespace
}  // namespace perdure
