// Hole 52: time and ids come from outside and are recorded, so a run can be had again.

#include <chrono>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using Record = std::pair<std::vector<Entry>, std::vector<Call>>;

// A turn with one call, from a clock and ids that begin anew.
Record play(const Backend& backend) {
  const StorePlace home(backend);
  FakeClock clock;
  CountingIds ids;
  CountingIds ids_of_the_store(1);
  Tool pay{.name = "pay", .side_effects = SideEffects{.mutate = true}};
  pay.run = [&clock](const CallContext& call) -> ToolOutcome {
    clock.advance(std::chrono::seconds(3));
    return Succeeded{"paid under " + call.key};
  };
  const auto store = must(open_store(home.location(), {.clock = &clock, .ids = &ids_of_the_store}));
  const auto runtime = must(Runtime::start(*store, {.host = "here",
                                                    .pid = 7,
                                                    .renews_itself = false,
                                                    .tools = must(Tools::of({pay})),
                                                    .clock = &clock,
                                                    .ids = &ids}));
  Session session = must(runtime->create({.budget_micros = 1'000}));
  must(session.record_request({.model = "m", .reserve_micros = 5}, user_says("go")));
  Message said{.role = Role::assistant};
  said.blocks.emplace_back(ToolCallBlock{.id = "call_0", .name = "pay"});
  must(session.record_response(said, {.cost_micros = 4}));
  must(session.run_calls());
  must(session.record_request());
  must(session.record_response(assistant_says("done")));
  return {must(store->log().read(session.id(), {})),
          must(store->ledger().list({.session = session.id()}))};
}

TEST(Hole52, TheSameTimesAndIdsGiveTheSameLogInEveryStore) {
  const Record first = play(every_backend().front());
  EXPECT_GT(first.first.size(), 8U);
  EXPECT_EQ(first.second.size(), 1U);
  for (const Backend& backend : every_backend()) {
    EXPECT_TRUE(play(backend) == first) << backend.name;
  }
}

}  // namespace
}  // namespace perdure
