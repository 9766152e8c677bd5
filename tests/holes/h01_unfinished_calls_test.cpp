// Holes 1, 2 and 8: a call that was begun and not recorded, a response that is sampled again, a
// call that was broken off.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

class Hole01 : public HoleSession {};
class Hole02 : public HoleSession {};
class Hole08 : public HoleSession {};

TEST_P(Hole01, ACallIssuedAgainMeetsTheOneOfWhichNobodyKnows) {
  begin({tool("pay")}, {.on_doubt = OnDoubt::tell_model});
  request({{"pay", R"({"to":"ann"})"}});
  restart_and_resume();

  const CallsReport report = turn({{"pay", R"({"to":"Ann"})"}});

  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(runs("pay"), 0);
  EXPECT_EQ(ledger().at(0).state, CallState::in_doubt);
}

TEST_P(Hole02, AResponseIsInTheLogBeforeItsFirstCallRuns) {
  begin({tool("pay")});
  std::size_t messages = 0;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    messages = must(read_state(*store, id, Point::head())).transcript.size();
    return Succeeded{"paid"};
  };
  turn({{"pay", "{}"}});
  EXPECT_EQ(messages, 2U);
}

TEST_P(Hole02, AfterADeathTheRecordedCallsGoOn) {
  Tool pay = tool("pay");
  pay.honours_key = true;
  begin({pay, tool("mail")});
  std::vector<std::string> paid;
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    paid.push_back(call.args.text());
    return Succeeded{"paid"};
  };
  request({{"pay", R"({"to":"ann"})"}, {"mail", "{}"}});
  restart_and_resume();

  EXPECT_EQ(paid, std::vector<std::string>{R"({"to":"ann"})"});
  EXPECT_EQ(runs("mail"), 1);
  EXPECT_EQ(code_of(session->record_response(asks_for({{"pay", "{}"}}))), ErrorCode::conflict)
      << "nobody asked the model again";
}

TEST_P(Hole02, TheModelIsNotAskedAgainOverAnOpenCall) {
  begin({tool("pay")});
  request({{"pay", "{}"}});
  restart_and_resume();
  EXPECT_EQ(code_of(session->record_request()), ErrorCode::conflict);
}

TEST_P(Hole08, ACallThatWasBrokenOffIsFoundWithoutARestart) {
  begin({tool("pay")});
  request({{"pay", "{}"}});
  session.reset();
  session = must(runtime->open(id));

  const CallsReport report = must(session->run_calls());

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
  EXPECT_EQ(runs("pay"), 0);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole01, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole02, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole08, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
