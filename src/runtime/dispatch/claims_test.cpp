// Two sessions that begin one operation at the same moment: each has seen that nobody has it, and
// the commit says whose it is.

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/turns_fixture.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class ClaimsTest : public testing::Test {
 protected:
  Tool tool(const std::string& name, Repeat repeat) {
    Tool made{.name = name, .side_effects = SideEffects{.mutate = true}, .repeat = repeat};
    made.run = [this, name](const CallContext&) -> ToolOutcome {
      ran.push_back(name);
      return Succeeded{name + " done"};
    };
    return made;
  }

  /// When the first one dispatches `pay`, the second has just done it.
  void race() {
    store.on_commit([this](const Lease& lease, const Batch& batch) -> Result<Receipt> {
      const bool is_it = lease.session == first.id() && batch.calls.size() > 0 &&
                         std::holds_alternative<Dispatch>(batch.calls.back());
      if (is_it && !has_raced && (ran.size() + 1 == wanted_at)) {
        has_raced = true;
        must(second.record_request({}, user_says("go")));
        must(second.record_response(asks_for({{"pay", "{}"}})));
        must(second.run_calls());
      }
      return behind->commit(lease, batch);
    });
  }

  std::vector<std::string> ran;
  std::size_t wanted_at = 1;
  bool has_raced = false;
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> behind = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  WatchedStore store{*behind};
  std::unique_ptr<Runtime> runtime =
      must(Runtime::start(store, {.host = "here",
                                  .pid = 7,
                                  .renews_itself = false,
                                  .tools = must(Tools::of({tool("pay", Repeat::once_per_store),
                                                           tool("mail", Repeat::each_call)})),
                                  .clock = &clock,
                                  .ids = &ids}));
  Session first = must(runtime->create());
  Session second = must(runtime->create());
};

TEST_F(ClaimsTest, LostWithAResponseLoseNoResponse) {
  race();
  must(first.record_request({}, user_says("go")));

  ASSERT_TRUE(first.record_response(asks_for({{"pay", "{}"}})));
  const CallsReport report = must(first.run_calls());

  EXPECT_TRUE(has_raced);
  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(ran, std::vector<std::string>{"pay"});
}

TEST_F(ClaimsTest, LostWithAnOutcomeLoseNoOutcome) {
  wanted_at = 2;
  race();
  must(first.record_request({}, user_says("go")));
  must(first.record_response(asks_for({{"mail", "{}"}, {"pay", "{}"}})));

  const CallsReport report = must(first.run_calls());

  EXPECT_TRUE(has_raced);
  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(ran, (std::vector<std::string>{"mail", "pay"}));
}

TEST_F(ClaimsTest, LostByACallThatWaitedAreNotActedOn) {
  must(first.record_request({}, user_says("go")));
  must(first.set_status({.status = Status::paused}));
  must(first.record_response(asks_for({{"pay", "{}"}})));
  must(first.set_status({.status = Status::active}));
  race();

  const CallsReport report = must(first.run_calls());

  EXPECT_TRUE(has_raced);
  EXPECT_EQ(report.run, 0U);
  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(ran, std::vector<std::string>{"pay"});
}

}  // namespace
}  // namespace perdure
