// How often a turn of an agent waits for the disk: two times, and for each response with calls once,
// and once for each of them that changes something; also with money reserved ahead. And what a turn
// reads does not grow with the history.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counted/counted_store.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

/// The tools that one response asks for, in order.
using Asked = std::vector<std::string>;

ToolSpec quick_tool(std::string name, SideEffects effects) {
  Tool tool{.name = std::move(name), .side_effects = effects};
  tool.run = [](const CallContext&) -> ToolOutcome { return Succeeded{std::string(500, 'r')}; };
  return {.tool = std::move(tool)};
}

class CountedAgent {
 public:
  /// Each turn is one response for each, with its calls, and one that ends it.
  explicit CountedAgent(const std::vector<std::vector<Asked>>& turns) {
    for (const auto& turn : turns) add(turn);
    AgentSpec spec{.setup = {.model = "m"}};
    spec.tools = must(
        Toolbox::of({quick_tool("look", {.read = true}), quick_tool("pay", {.mutate = true})}));
    spec.permissions.mutate = Permit::allow;
    spec.prices.set("m", {.input = 1'000'000, .output = 1'000'000});
    spec.make_provider = [this](const Setup&) {
      return make_scripted(R"({"responses": [)" + script_ + "]}");
    };
    agent_ =
        must(Agent::start(counted_.store(), std::move(spec),
                          {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock_}));
    session_ = must(agent_->begin({.budget_micros = 1'000'000'000}));
  }

  std::uint64_t syncs_of_turn() {
    const auto before = counted_.syncs();
    take_turn();
    return counted_.syncs() - before;
  }
  /// Of a session that begins with its message, until it is answered.
  std::uint64_t syncs_of_first_turn() {
    const auto before = counted_.syncs();
    session_ = must(agent_->begin({.budget_micros = 1'000'000'000, .input = user_says("go")}));
    AgentObserver nobody;
    EXPECT_EQ(must(session_->run(std::nullopt, nobody)).stop, TurnStop::completed);
    return counted_.syncs() - before;
  }
  std::uint64_t rows_of_turn() {
    const auto before = counted_.counters().rows_read;
    take_turn();
    return counted_.counters().rows_read - before;
  }

 private:
  void take_turn() {
    AgentObserver nobody;
    ASSERT_EQ(must(session_->run(user_says("go"), nobody)).stop, TurnStop::completed);
  }

  void add(const std::vector<Asked>& turn) {
    for (const Asked& names : turn) {
      std::string calls;
      for (const std::string& name : names) {
        calls += fmt::format(R"({}{{"name": "{}", "args": {{"n": {}}}}})", calls.empty() ? "" : ",",
                             name, ++number_);
      }
      script_ += fmt::format(R"({}{{"calls": [{}]}})", script_.empty() ? "" : ",", calls);
    }
    script_ += fmt::format(R"({}{{"text": "done"}})", script_.empty() ? "" : ",");
  }

  FakeClock clock_;
  CountedStore counted_{Durability::full, clock_};
  std::string script_;
  int number_ = 0;
  std::unique_ptr<Agent> agent_;
  std::optional<AgentSession> session_;
};

std::uint64_t agent_syncs(const std::vector<Asked>& turn) {
  CountedAgent agent({{}, turn});
  agent.syncs_of_turn();  // The first frames of a WAL are preceded by its header, with a sync.
  return agent.syncs_of_turn();
}

TEST(AgentSyncs, WithoutCallsThereAreTwo) { EXPECT_EQ(agent_syncs({}), 2U); }

TEST(AgentSyncs, ASessionThatBeginsWithItsMessageAddsOne) {
  CountedAgent agent(std::vector<std::vector<Asked>>(1));
  EXPECT_EQ(agent.syncs_of_first_turn(), 2U + 1U);
}

TEST(AgentSyncs, AResponseThatOnlyReadsAddsOne) {
  EXPECT_EQ(agent_syncs({{"look"}}), 2U + 1U);
  EXPECT_EQ(agent_syncs({{"look", "look", "look"}}), 2U + 1U);
}

TEST(AgentSyncs, EachCallThatChangesSomethingAddsOne) {
  EXPECT_EQ(agent_syncs({{"pay"}}), 4U);
  EXPECT_EQ(agent_syncs({{"pay", "pay", "pay"}}), 2U + 1U + 3U);
}

TEST(AgentSyncs, ResponsesAddUp) {
  EXPECT_EQ(agent_syncs({{"look"}, {"pay"}, {"look", "look"}}), 2U + 1U + 2U + 1U);
}

TEST(AgentSyncs, WhatIsRefusedAddsTheResponseAlone) {
  EXPECT_EQ(agent_syncs({{"nothing"}}), 2U + 1U);
}

TEST(AgentSyncs, ATurnReadsAsMuchAtTheFortiethAsAtTheTenth) {
  CountedAgent agent(std::vector<std::vector<Asked>>(40, {{"look"}, {"pay"}}));
  std::vector<std::uint64_t> rows;
  rows.reserve(40);
  for (int turn = 0; turn < 40; ++turn) rows.push_back(agent.rows_of_turn());
  EXPECT_EQ(rows[39], rows[9]);
}

}  // namespace
}  // namespace perdure
