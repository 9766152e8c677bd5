// Money in the loop: reserved before it is spent, counted over the whole life of a session.

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "doubles/must.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

// A scripted request reserves its bytes / 4 and 8192 tokens; a response here costs 15.
constexpr std::int64_t one_request = 9'000;

/// A scripted model between two hooks: what is recorded when a request is sent, and what comes back.
class Watched final : public Provider {
 public:
  using Sent = std::function<void(const PreparedRequest&)>;
  using Came = std::function<ModelOutcome(ModelResponse)>;

  Watched(std::unique_ptr<Provider> inner, const Sent& sent, const Came& came)
      : inner_(std::move(inner)), sent_(sent), came_(came) {}
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    auto prepared = inner_->prepare(request);
    if (prepared) prepared_ = *prepared;
    return prepared;
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    if (sent_) sent_(prepared_);
    ModelOutcome outcome = inner_->send(observer, std::move(stop));
    auto* const response = std::get_if<ModelResponse>(&outcome);
    return response != nullptr && came_ ? came_(std::move(*response)) : outcome;
  }

 private:
  std::unique_ptr<Provider> inner_;
  const Sent& sent_;
  const Came& came_;
  PreparedRequest prepared_;
};

class LoopMoneyTest : public LoopTest {
 protected:
  /// As script(), between the hooks.
  void watch(const std::string& responses) {
    script(responses);
    spec.make_provider = [this, all = fmt::format(R"({{"responses": [{}]}})", responses)](
                             const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
      return std::make_unique<Watched>(must(make_scripted(all)), on_sent, on_came);
    };
  }

  [[nodiscard]] std::int64_t recorded() const { return state().budget.totals.recorded(); }
  [[nodiscard]] const BudgetTotals& money() const { return state().budget.totals; }
  /// The most that it can cost, at a micro for a token.
  static std::int64_t most_of(const PreparedRequest& request) {
    return request.tokens_in + request.tokens_out;
  }

  Watched::Sent on_sent;
  Watched::Came on_came;
};

TEST_F(LoopMoneyTest, WhatIsSpentIsWhatTheResponsesCost) {
  script(asking_for({"pay"}) + "," + asking_for({"look"}, 2) + "," + saying("Done."));
  begin(1'000'000);
  std::int64_t reserved = 0;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    reserved = state().budget.totals.reserved;
    return Succeeded{"paid"};
  };

  run("pay");

  EXPECT_EQ(reserved, 0) << "the next request is written with the outcome";
  EXPECT_EQ(state().budget.totals.spent, 45);
  EXPECT_EQ(recorded(), 45) << "nothing stays reserved";
  EXPECT_EQ(row().tally.cost_micros, 45);
}

TEST_F(LoopMoneyTest, ABudgetIsCrossedInATurnAndHoldsThroughThreeRestarts) {
  script(asking_for({"pay"}) + "," + saying("Done."));
  begin(one_request);
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome {
    return Succeeded{std::string(8'000, 'r')};
  };

  EXPECT_EQ(run("pay").stop, TurnStop::budget);
  for (int process = 0; process < 3; ++process) {
    EXPECT_EQ(recorded(), 15);
    EXPECT_EQ(runs["pay"], 1) << "a response that was paid for is acted on, once";
    EXPECT_EQ(row().status, Status::waiting);
    EXPECT_THAT(row().wait_reason, HasSubstr("budget"));
    restart();
    EXPECT_EQ(go_on().stop, TurnStop::budget);
  }

  must(session->session().set_budget(1'000'000, "ann", "worth it"));
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(recorded(), 30);
}

TEST_F(LoopMoneyTest, LargeResultsReserveMoreThanWasForeseen) {
  script(asking_for({"look"}) + "," + saying("Done."));
  begin(1'000'000);
  behaviour["look"] = [](const CallContext&) -> ToolOutcome {
    return Succeeded{std::string(200'000, 'r')};
  };
  std::int64_t reserved = 0;
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<Recorded>(event)) {
      reserved = std::max(reserved, state().budget.totals.reserved);
    }
  };

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  EXPECT_GT(reserved, 50'000);
  EXPECT_EQ(recorded(), 30);
}

// Whether it was written ahead of reads, of a change, or not at all.
TEST_F(LoopMoneyTest, WhatIsReservedWhenARequestIsSentIsWhatItCanCostAndItsDigestIsIts) {
  watch(asking_for({"look", "look"}) + "," + asking_for({"pay"}, 3) + "," + saying("Done."));
  begin(1'000'000);
  int requests = 0;
  on_sent = [&](const PreparedRequest& request) {
    ++requests;
    EXPECT_EQ(money().reserved, most_of(request)) << "request " << requests;
    ASSERT_TRUE(state().details->request);
    EXPECT_EQ(state().details->request->request.digest, request.digest) << "request " << requests;
  };

  run("go");

  EXPECT_EQ(requests, 3);
  EXPECT_EQ(recorded(), 45);
}

TEST_F(LoopMoneyTest, AServerThatTellsNoUsageIsChargedWhatItsRequestsCanCost) {
  watch(asking_for({"look"}) + "," + asking_for({"pay"}, 2) + "," + saying("Done."));
  begin(1'000'000);
  std::int64_t most = 0;
  on_sent = [&](const PreparedRequest& request) { most += most_of(request); };
  on_came = [](ModelResponse response) -> ModelOutcome {
    response.usage = {};
    return response;
  };

  run("go");

  EXPECT_EQ(recorded(), most);
  EXPECT_EQ(money().unconfirmed, most) << "nobody knows that it was spent";
}

TEST_F(LoopMoneyTest, ALostRequestThatWasWrittenAheadCountsAsWhatItCanCost) {
  watch(asking_for({"look", "look", "look"}) + "," +
        R"({"text": "Done.", "fails": [{"message": "timed out", "may_be_paid": true}]})");
  begin(1'000'000);
  std::int64_t most = 0;
  on_sent = [&](const PreparedRequest& request) { most = most_of(request); };

  EXPECT_FALSE(try_run("go"));

  EXPECT_EQ(money().spent, 15);
  EXPECT_EQ(money().unconfirmed, most);
}

// The provider told what was sent, and not yet what was written.
TEST_F(LoopMoneyTest, OfAResponseThatWasStoppedTheRestStaysUnconfirmedLessWhatIsKnown) {
  watch(saying("Hello"));
  begin(1'000'000);
  on_came = [](ModelResponse response) -> ModelOutcome {
    response.usage = {.tokens_in = 10, .tokens_out = 1};
    return CutOff{.so_far = std::move(response), .error = {}, .was_stopped = true};
  };

  EXPECT_EQ(run("go").stop, TurnStop::interrupted);

  EXPECT_EQ(money().spent, 11);
  EXPECT_EQ(money().unconfirmed, 10 + 8'192 - 11);
  EXPECT_EQ(money().reserved, 0);
  EXPECT_EQ(row().tally.cost_micros, 11);
}

TEST_F(LoopMoneyTest, OfAResponseThatWasStoppedBeforeAnyUsageAllStaysUnconfirmed) {
  watch(saying("Hello"));
  begin(1'000'000);
  std::int64_t most = 0;
  on_sent = [&](const PreparedRequest& request) { most = most_of(request); };
  on_came = [](ModelResponse response) -> ModelOutcome {
    response.usage = {};
    return CutOff{.so_far = std::move(response), .error = {}, .was_stopped = true};
  };

  EXPECT_EQ(run("go").stop, TurnStop::interrupted);

  EXPECT_EQ(money().spent, 0);
  EXPECT_EQ(money().unconfirmed, most);
}

TEST_F(LoopMoneyTest, AWarningComesOnceForALimitAlsoAcrossRestarts) {
  script(R"({"text": "a", "usage": {"in": 70000, "out": 5}}, {"text": "b", "usage": {"in": 10000,
             "out": 5}}, {"text": "c", "usage": {"in": 10, "out": 5}})");
  begin(100'000);

  run("one");
  EXPECT_TRUE(heard.all<BudgetWarning>().empty());
  run("two");
  ASSERT_EQ(heard.all<BudgetWarning>().size(), 1U);
  EXPECT_EQ(heard.all<BudgetWarning>()[0].used_micros, 80'010);
  restart();
  run("three");
  EXPECT_EQ(heard.all<BudgetWarning>().size(), 1U);
}

TEST_F(LoopMoneyTest, ARequestThatMayBePaidCountsAndOneThatIsNotDoesNot) {
  script(R"({"text": "Hi.", "usage": {"in": 10, "out": 5}, "fails": [
             {"message": "no route"}, {"message": "timed out", "may_be_paid": true}]})");
  begin(1'000'000);

  EXPECT_FALSE(try_run("hello"));
  EXPECT_EQ(recorded(), 0);
  EXPECT_FALSE(try_run(std::nullopt));
  const std::int64_t unconfirmed = state().budget.totals.unconfirmed;
  EXPECT_GT(unconfirmed, 8'192);
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(recorded(), unconfirmed + 15);
}

TEST_F(LoopMoneyTest, WhatACutOffResponseCostIsTakenToBeAllThatItCan) {
  script(R"({"text": "I", "cut_off": "reset", "usage": {"in": 10, "out": 1}},)" + saying("Hi."));
  begin(1'000'000);

  EXPECT_EQ(run("hello").stop, TurnStop::completed);

  EXPECT_GT(recorded(), 8'192 + 15);
}

TEST_F(LoopMoneyTest, ABudgetNeedsAPriceAndWithoutOneTheCostIsSaidToBeUnknown) {
  script(saying("Hi."));
  spec.setup.model = "nobody's";
  begin(1'000'000);
  const auto report = try_run("hello");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(report.error().message, HasSubstr("nobody's"));
  ASSERT_EQ(state().transcript.size(), 1U) << "what was said is kept";
  EXPECT_EQ(text_of(state().transcript[0].message), "hello");

  must(session->session().set_budget(std::nullopt, "ann", "it is local"));
  run("hello");
  EXPECT_TRUE(has_unknown_cost(state()));
  EXPECT_EQ(row().tally.tokens_in, 10);
}

TEST_F(LoopMoneyTest, AUsageBeyondAllReasonLosesNoResponse) {
  script(R"({"text": "a", "usage": {"in": 9000000000000000000, "out": 9000000000000000000}})");
  begin(1'000'000);
  EXPECT_EQ(run("one").stop, TurnStop::completed);
  EXPECT_EQ(run("two").stop, TurnStop::budget);
}

TEST_F(LoopMoneyTest, ThatACostIsUnknownIsKnownInEveryProcess) {
  script(saying("Hi.") + "," + saying("Hi again."));
  begin();
  run("hello");
  EXPECT_FALSE(has_unknown_cost(state()));
  spec.prices = Prices{};
  restart();
  run("hello");
  spec.prices.set("m", {.input = 1'000'000, .output = 1'000'000});
  restart();

  EXPECT_TRUE(has_unknown_cost(state())) << "a price that comes later does not change it";
}

// A provider that notes what it is told was counted.
class CountsHeard final : public Provider {
 public:
  CountsHeard(std::unique_ptr<Provider> inner, CountedBody& told, std::int64_t& sent)
      : inner_(std::move(inner)), told_(told), sent_(sent) {}
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    if (request.kept == 0) told_ = request.counted;
    auto prepared = inner_->prepare(request);
    if (prepared) sent_ = static_cast<std::int64_t>(prepared->bytes);
    return prepared;
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    return inner_->send(observer, std::move(stop));
  }

 private:
  std::unique_ptr<Provider> inner_;
  CountedBody& told_;
  std::int64_t& sent_;
};

TEST_F(LoopMoneyTest, WhatTheProviderCountedIsKnownToTheNextProcess) {
  const std::string responses =
      fmt::format(R"({{"responses": [{}, {}]}})", saying("Hi."), saying("Bye."));
  CountedBody told;
  std::int64_t sent = 0;
  spec.make_provider = [&](const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
    return std::make_unique<CountsHeard>(must(make_scripted(responses)), told, sent);
  };
  begin(1'000'000);
  run("hello");
  EXPECT_EQ(told, CountedBody{});
  const std::int64_t counted_bytes = sent;

  restart();
  run("and now?");

  EXPECT_EQ(told, (CountedBody{.tokens = 10, .bytes = counted_bytes}));
}

}  // namespace
}  // namespace perdure
