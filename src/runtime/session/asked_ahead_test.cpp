// The request that follows calls, written before they are answered where that saves a sync.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class AskedAheadTest : public TurnsTest {
 protected:
  std::size_t requests() { return must(store->log().read(id, {.channel = "requests"})).size(); }
};

TEST_P(AskedAheadTest, IsWrittenWithTheLastOutcomeAndOnceMoreWhenItIsSent) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}}), {},
                                {.next_request = RequestSpec{.model = "m"}}));
  EXPECT_FALSE(session->state().details->request);
  must(session->run_calls());
  ASSERT_TRUE(session->state().details->request);
  EXPECT_EQ(requests(), 2U);
  must(session->record_request({.model = "m"}));
  EXPECT_EQ(requests(), 3U) << "what is really sent";
  EXPECT_TRUE(session->record_response(assistant_says("paid")));
}

TEST_P(AskedAheadTest, IsWrittenWithCallsThatOnlyRead) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}}), {},
                                {.next_request = RequestSpec{.model = "m"}}));
  EXPECT_FALSE(session->record_request({.model = "m"})) << "there is nothing to ask with yet";
  must(session->run_calls());
  EXPECT_EQ(requests(), 2U);
  must(session->record_request({.model = "m"}));
  EXPECT_EQ(requests(), 3U);
}

TEST_P(AskedAheadTest, FollowsItsOwnCallsOnly) {
  begin({tool("pay")});
  behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
    if (runs["pay"] == 1) return Doubtful{"connection lost"};
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}}), {},
                                {.next_request = RequestSpec{.model = "old"}}));
  must(session->run_calls());
  must(session->resolve(first_call(), {.as = Decision::As::failed, .who = "ann"}));
  must(session->record_request({}));
  must(session->record_response(asks_for({{"pay", "{}"}})));

  must(session->run_calls());

  EXPECT_FALSE(session->state().details->request) << "nobody wants to ask";
}

INSTANTIATE_TEST_SUITE_P(Every, AskedAheadTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
