// Whoever an agent calls, and throws: its provider at each moment of a request, its observer, its clock
// and its ids. What was paid for is in the log when another process opens the store, the money is
// counted, and with a good provider the turn goes on without buying it again.

#include "perdure/agent/agent.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/state_details.hpp"
#include "thrown/throwing.hpp"

namespace perdure {
namespace {

enum class Moment : std::uint8_t {
  made,     ///< make_provider.
  missing,  ///< make_provider returns null.
  prepared,
  unsent,  ///< `send`, before anything is told.
  begun,   ///< After a piece of text.
  asking,  ///< After the text and a whole call.
};

/// Says what the script says, and counts what it is asked to buy.
class Wayward final : public Provider {
 public:
  struct Plan {
    std::optional<Moment> moment;  ///< Empty: never.
    Thrown what = Thrown::exception;
    int sent = 0;
  };

  Wayward(std::unique_ptr<Provider> inner, Plan& plan) : inner_(std::move(inner)), plan_(plan) {}

  Result<PreparedRequest> prepare(const ModelRequest& request) override {
    if (plan_.moment == Moment::prepared) throw_it(plan_.what);
    return inner_->prepare(request);
  }
  ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    ++plan_.sent;
    if (plan_.moment == Moment::unsent) throw_it(plan_.what);
    if (plan_.moment) observer.on_reasoning("Hm.");
    if (plan_.moment) observer.on_text("One mo");
    if (plan_.moment) observer.on_text("ment.");
    if (plan_.moment == Moment::asking) {
      observer.on_call({.id = "c1", .name = "pay", .args = R"({"n": 9})"});
    }
    if (plan_.moment) throw_it(plan_.what);
    return inner_->send(observer, std::move(stop));
  }

 private:
  std::unique_ptr<Provider> inner_;
  Plan& plan_;
};

struct ProviderCase {
  std::string name;
  Moment moment;
  std::string named;
  int sent = 0;
  bool is_partial = false;
};

std::vector<ProviderCase> provider_cases() {
  return {
      {"Made", Moment::made, "the agent's `make_provider`"},
      {"Missing", Moment::missing, ""},
      {"Prepared", Moment::prepared, "the provider's `prepare`"},
      {"Unsent", Moment::unsent, "the provider's `send`", 1},
      {"Begun", Moment::begun, "the provider's `send`", 1, true},
      {"Asking", Moment::asking, "the provider's `send`", 1, true},
  };
}

class ThrowingAgent : public LoopTest {
 protected:
  ThrowingAgent() : ThrowingAgent(std::make_unique<TempFolder>()) {}

  void use_wayward(const std::string& responses) {
    const std::string all = R"({"responses": [)" + responses + "]}";
    spec.limits.cut_offs = 0;
    spec.make_provider = [this, all](const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
      if (plan.moment == Moment::made) throw_it(plan.what);
      if (plan.moment == Moment::missing) return nullptr;
      return std::make_unique<Wayward>(must(make_scripted(all)), plan);
    };
  }
  [[nodiscard]] const BudgetTotals& money() const { return state().budget.totals; }

  Wayward::Plan plan;

 private:
  explicit ThrowingAgent(std::unique_ptr<TempFolder> folder)
      : LoopTest("sqlite:" + folder->file("store.db")), folder_(std::move(folder)) {}

  std::unique_ptr<TempFolder> folder_;
};

TEST_F(ThrowingAgent, AProviderThatThrowsIsNamedAndWhatCameOfItRecorded) {
  use_wayward(saying("Unused.") + "," + saying("Done."));
  for (const ProviderCase& one : provider_cases()) {
    for (const Thrown what : all_thrown) {
      SCOPED_TRACE(fmt::format("{} {}", one.name, static_cast<int>(what)));
      plan = {};
      id.reset();
      begin();
      plan = {.moment = one.moment, .what = what};

      const auto ended = try_run("Go");

      ASSERT_FALSE(ended);
      const std::string& said = ended.error().message;
      if (one.moment == Moment::missing) {
        EXPECT_EQ(ended.error().code, ErrorCode::invalid_argument);
        EXPECT_THAT(said, testing::HasSubstr("returned no provider"));
      } else {
        EXPECT_EQ(ended.error().code, ErrorCode::unavailable);
        EXPECT_EQ(said, threw(one.named, what));
      }
      EXPECT_EQ(plan.sent, one.sent);

      plan.moment.reset();
      restart();

      EXPECT_EQ(money().reserved, 0);
      EXPECT_EQ(money().spent, 0);
      EXPECT_EQ(money().unconfirmed > 0, one.sent > 0) << "nobody knows what was paid";
      EXPECT_FALSE(state().details->request);
      const Message& last =
          state().transcript.empty() ? user_says("") : state().transcript.back().message;
      EXPECT_EQ(last.is_partial, one.is_partial);
      EXPECT_EQ(text_of(last), one.is_partial ? "One moment." : text_of(last));
      EXPECT_TRUE(calls().empty()) << "a call of half a response is none";

      const bool is_kept = !state().transcript.empty();
      const TurnReport report = is_kept ? go_on() : run("Go");

      EXPECT_EQ(report.stop, TurnStop::completed);
      EXPECT_EQ(plan.sent, one.sent + 1);
      EXPECT_EQ(runs["pay"], 0);
    }
  }
}

TEST_F(ThrowingAgent, AProviderThatThrewOnceIsAskedAgainAsAfterALostConnection) {
  use_wayward(saying("Unused.") + "," + saying("Done."));
  spec.limits.cut_offs = 2;
  begin();
  plan.moment = Moment::begun;
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<ModelFailed>(event)) plan.moment.reset();
  };

  const TurnReport report = run("Go");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(plan.sent, 2);
  ASSERT_EQ(heard.all<ModelFailed>().size(), 1U);
  EXPECT_EQ(heard.all<ModelFailed>()[0].why, threw("the provider's `send`", Thrown::exception));
  EXPECT_GT(money().unconfirmed, 0);
}

TEST_F(ThrowingAgent, AProviderThatThrowsWhenItIsStoppedWasStopped) {
  use_wayward(saying("Unused."));
  begin();
  plan.moment = Moment::begun;
  std::stop_source stop;
  heard.on_piece = [&] { stop.request_stop(); };

  const TurnReport report = run("Go", stop.get_token());

  EXPECT_EQ(report.stop, TurnStop::interrupted);
  EXPECT_TRUE(state().transcript.back().message.is_partial);
}

/// Throws whatever it is told.
class Deaf final : public AgentObserver {
 public:
  explicit Deaf(Thrown what) : what_(what) {}
  void on_text(std::string_view) override { throw_it(what_); }
  void on_reasoning(std::string_view) override { throw_it(what_); }
  void on_call(const ToolCallBlock&) override { throw_it(what_); }
  void on_retry(const RetryNotice&) override { throw_it(what_); }
  void on_event(const AgentEvent&) override { throw_it(what_); }
  void on_progress(const CallProgress&) override { throw_it(what_); }

 private:
  Thrown what_;
};

TEST_F(ThrowingAgent, AnObserverThatThrowsChangesNothing) {
  use_wayward(
      R"({"reasoning": "Hm.", "calls": [{"name": "pay", "args": {"n": 1}}], "usage": {"in": 10, "out": 5}},)" +
      saying("Paid."));
  behaviour["pay"] = [](const CallContext& call) {
    call.progress("half");
    return Succeeded{"paid"};
  };
  begin();
  run("pay");
  const auto heads = state().head;
  const BudgetTotals totals = money();
  for (const Thrown what : all_thrown) {
    id.reset();
    begin();
    Deaf deaf(what);

    const TurnReport report = must(session->run(user_says("pay"), deaf));

    EXPECT_EQ(report.stop, TurnStop::completed);
    EXPECT_EQ(report.answer, "Paid.");
    EXPECT_EQ(state().head, heads) << "the log is the same";
    EXPECT_EQ(money(), totals);
    EXPECT_EQ(calls().at(0).state, CallState::succeeded);
  }
}

/// Tells the time, or ids, until it is told to throw.
class BrokenClock final : public Clock {
 public:
  BrokenClock(const Clock& inner, const bool& is_broken) : inner_(inner), is_broken_(is_broken) {}
  Timestamp now() const override {
    if (is_broken_) throw_it(Thrown::number);
    return inner_.now();
  }
  Uptime uptime() const override {
    if (is_broken_) throw_it(Thrown::exception);
    return inner_.uptime();
  }

 private:
  const Clock& inner_;
  const bool& is_broken_;
};

class BrokenIds final : public IdSource {
 public:
  BrokenIds(IdSource& inner, const bool& is_broken) : inner_(inner), is_broken_(is_broken) {}
  RawId next() override {
    if (is_broken_) throw_it(Thrown::number);
    return inner_.next();
  }

 private:
  IdSource& inner_;
  const bool& is_broken_;
};

TEST_F(ThrowingAgent, AClockAndIdsThatThrowOrAreMissingLoseNothing) {
  use_wayward(asking_for({"pay"}) + "," + saying("Paid."));
  bool is_broken = false;
  BrokenClock broken_clock(clock, is_broken);
  BrokenIds broken_ids(ids, is_broken);
  start();
  for (const bool is_missing : {false, true}) {
    is_broken = false;
    runs.clear();
    plan.sent = 0;
    Clock* const its_clock = is_missing ? nullptr : &broken_clock;
    IdSource* const its_ids = is_missing ? nullptr : &broken_ids;
    const auto broken_store = must(open_store("memory:", {.clock = its_clock, .ids = its_ids}));
    const auto broken = must(Agent::start(
        *broken_store, spec, {.host = "here", .pid = 7, .clock = its_clock, .ids = its_ids}));
    AgentSession begun = must(broken->begin());
    heard.on_each = [&](const AgentEvent&) { is_broken = true; };

    const TurnReport report = must(begun.run(user_says("pay"), heard));

    EXPECT_EQ(report.stop, TurnStop::completed);
    EXPECT_EQ(runs["pay"], 1);
    EXPECT_EQ(plan.sent, 2);
    EXPECT_EQ(begun.session().state().budget.totals.spent, 30);
  }
}

}  // namespace
}  // namespace perdure
