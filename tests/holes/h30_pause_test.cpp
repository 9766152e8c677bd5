// Hole 30: a session that waits for a person needs no process to do so.

#include <gtest/gtest.h>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

class Hole30 : public HoleSession {};

TEST_P(Hole30, AWordGivenWhileNoProcessRunsIsHeardByTheNextOne) {
  begin({tool("pay")}, {.permit = [](const State&, const ProposedCall&) {
          return PermitDecision::ask("it is a rule");
        }});
  const auto asked = turn({{"pay", "{}"}});
  ASSERT_TRUE(asked.waiting);
  session.reset();
  runtime.reset();
  EXPECT_EQ(must(store->sessions().read(id)).status, Status::waiting);
  must(Mail(*store, id).approve(mint<MessageTag>(ids), asked.waiting->call, true, "ann", "fine"));

  const auto report = restart_and_resume();

  EXPECT_FALSE(report.calls.waiting);
  EXPECT_EQ(runs("pay"), 1);
  EXPECT_EQ(session->status(), Status::active);
}

TEST_P(Hole30, APauseInTheMiddleOfATurnOutlivesItsProcess) {
  begin({tool("pay")});
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    must(Mail(*store, id).pause(mint<MessageTag>(ids), "ann", "lunch"));
    return Succeeded{"paid"};
  };
  turn({{"pay", "{}"}});
  must(session->take_inbox());
  restart_and_resume();
  EXPECT_EQ(session->status(), Status::paused);
  EXPECT_EQ(code_of(session->record_request()), ErrorCode::conflict);

  must(session->set_status({.status = Status::active}));

  EXPECT_TRUE(session->record_request());
  EXPECT_EQ(runs("pay"), 1) << "what was paid before the pause is not paid after it";
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole30, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
