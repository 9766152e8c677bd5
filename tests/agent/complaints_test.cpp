// What users of other harnesses complain of, as tests: sessions that answer 400 for ever, thinking
// that changed, costs that start again at zero, approvals that are forgotten, two processes that
// write to one session, a model that runs in circles. Those that need a wire or a killed process
// are in talking_test.cpp (torn tails), sweep_test.cpp and two_agents_test.cpp.

#include <chrono>
#include <cstddef>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/loop/loop_fixture.hpp"
#include "agent/pairing.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

// A provider that keeps all it was ever sent.
class Recording final : public Provider {
 public:
  Recording(std::unique_ptr<Provider> real, std::vector<std::vector<Message>>& sent)
      : real_(std::move(real)), sent_(sent) {}
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    now_.resize(request.kept);
    now_.insert(now_.end(), request.messages.begin(), request.messages.end());
    sent_.push_back(now_);
    return real_->prepare(request);
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    return real_->send(observer, std::move(stop));
  }

 private:
  std::unique_ptr<Provider> real_;
  std::vector<std::vector<Message>>& sent_;
  std::vector<Message> now_;
};

// Thinks first, signed by its vendor; then answers.
class Thinker final : public Provider {
 public:
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    messages_ = request.kept + request.messages.size();
    return PreparedRequest{};
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& /*observer*/, std::stop_token /*stop*/) override {
    ModelResponse response{.message = assistant_says("done")};
    if (messages_ > 1) return response;
    const auto signature = RawJson::from_text(R"({ "signature":"\u00e9+/=",  "n":1.0 })");
    response.message.blocks = {ReasoningBlock{.text = "hm", .metadata = must(signature)},
                               ToolCallBlock{.id = "c1", .name = "pay", .args = R"({ "n":1 })"}};
    return response;
  }

 private:
  std::size_t messages_ = 0;
};

class Complaints : public LoopTest {
 protected:
  Complaints() : Complaints(std::make_unique<TempFolder>()) {}
  ~Complaints() override {
    session.reset();
    agent.reset();
    store.reset();  // Before its folder goes.
  }

  void record(const std::string& responses) {
    make_ = [responses] { return make_scripted(R"({"responses": [)" + responses + "]}"); };
    spec.make_provider = [this](const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
      auto real = make_();
      if (!real) return forward(real);
      return std::make_unique<Recording>(*std::move(real), sent);
    };
  }

  std::vector<std::vector<Message>> sent;
  std::function<Result<std::unique_ptr<Provider>>()> make_;

 private:
  explicit Complaints(std::unique_ptr<TempFolder> folder)
      : LoopTest(folder->file("store.db")), folder_(std::move(folder)) {}
  std::unique_ptr<TempFolder> folder_;
};

TEST_F(Complaints, OrphanedCalls) {
  record(asking_for({"pay", "pay"}, 1) + "," + asking_for({"look", "nothing"}, 3) + "," +
         R"({"text": "I", "calls": [{"name": "pay", "args": {"n": 9}}], "cut_off": "reset"},)" +
         saying("Done.") + "," + saying("Yes."));
  std::stop_source stop;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    stop.request_stop();
    return Succeeded{"paid"};
  };
  begin();
  EXPECT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
  restart();
  run("and hurry");
  restart();
  EXPECT_EQ(run("still there?").stop, TurnStop::completed);

  EXPECT_GE(sent.size(), 4U);
  for (const auto& messages : sent) EXPECT_TRUE(agents::is_paired(messages));
  EXPECT_EQ(runs["pay"], 1) << "not the one that the user spoke before, nor one that was cut off";
}

TEST_F(Complaints, ChangedThinkingBlocks) {
  record("");
  make_ = [] { return Result<std::unique_ptr<Provider>>(std::make_unique<Thinker>()); };
  std::stop_source stop;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    stop.request_stop();
    return Succeeded{"paid"};
  };
  begin();
  run("go", stop.get_token());
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);

  const Message& again = sent.back().at(1);
  const auto& thought = std::get<ReasoningBlock>(again.blocks.at(0));
  EXPECT_EQ(thought.text, "hm");
  EXPECT_EQ(thought.metadata.text(), R"({ "signature":"\u00e9+/=",  "n":1.0 })");
  EXPECT_EQ(std::get<ToolCallBlock>(again.blocks.at(1)).args, R"({ "n":1 })");
}

TEST_F(Complaints, CostsThatStartAgainAtZero) {
  record(saying("a") + "," + saying("b") + "," + saying("c"));
  begin(100'000);
  for (int turn = 1; turn <= 3; ++turn) {
    run("next");
    EXPECT_EQ(state().budget.totals.recorded(), 15 * turn);
    EXPECT_EQ(row().tally.cost_micros, 15 * turn);
    restart();
  }
}

TEST_F(Complaints, ForgottenApprovals) {
  record(asking_for({"pay"}) + "," + saying("Done."));
  spec.permissions.mutate = Permit::ask;
  begin();
  const TurnReport asked = run("pay");
  ASSERT_EQ(asked.stop, TurnStop::waiting);
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::waiting) << "the question outlives the process";
  session.reset();
  must(Mail(*store, *id)
           .approve(mint<MessageTag>(ids), asked.waiting.value().call, true, "ann", "fine"));
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_F(Complaints, TwoProcessesOnOneSession) {
  record(asking_for({"pay"}) + "," + saying("Done."));
  begin();
  const auto second = must(Agent::start(
      *store, spec,
      {.host = "there", .pid = 8, .renews_itself = false, .clock = &clock, .ids = &ids}));
  const auto held = second->resume(*id);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, ErrorCode::lease_held);

  for (int time = 0; time < 2; ++time) {  // The first does not renew its lease of 30 seconds.
    clock.advance(std::chrono::seconds(20));
    must(second->runtime().renew());
  }
  auto taken = must(second->resume(*id));
  const auto late = try_run("pay");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::lease_lost);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(must(taken.session.run(user_says("pay"), heard)).stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
}

// It is told so, each time, and comes to an end soon; also if it is taken up again.
TEST_F(Complaints, APromptThatLoops) {
  std::string responses = asking_for({"pay"});
  for (int i = 0; i < 70; ++i) responses += "," + asking_for({"pay"});
  record(responses);
  begin();
  EXPECT_EQ(run("go").responses, 5U);
  EXPECT_EQ(runs["pay"], 2) << "the third time in a row it is refused, and the fifth ends the turn";
  restart();
  const TurnReport again = go_on();
  EXPECT_EQ(again.stop, TurnStop::loop);
  EXPECT_EQ(again.responses, 3U);
  EXPECT_EQ(runs["pay"], 2);
  EXPECT_THAT(results().back(), testing::HasSubstr("loop"));
  for (const auto& messages : sent) EXPECT_TRUE(agents::is_paired(messages));
}

}  // namespace
}  // namespace perdure
