// A checkpointer and a runtime on one session, over every backend.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <variant>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/dispatch/turns_fixture.hpp"

namespace perdure {
namespace {

using CheckpointerAndRuntime = TurnsTest;

TEST_P(CheckpointerAndRuntime, ReplaysWhatACheckpointerRecorded) {
  Tool once = tool("one");
  once.repeat = Repeat::once_per_session;
  begin({once});
  session.reset();
  {
    Checkpointer book(*store);
    must(book.start_session(id));
    const auto issued = must(book.record_tool_call_issued(id, {.tool_name = "one"}));
    const Position call = std::get<Checkpointer::MayRun>(issued).call;
    must(book.record_tool_call_result(id, call, Succeeded{.content = "by the book"}));
  }
  session = must(runtime->resume(id)).session;
  must(session->record_request());
  must(session->record_response(asks_for({{"one", "{}"}})));

  EXPECT_EQ(must(session->run_calls()).replayed, 1U);
  EXPECT_EQ(runs["one"], 0);
  EXPECT_EQ(result_of(2), "by the book");
}

// The fences of the new session begin again, too.
TEST_P(CheckpointerAndRuntime, ASessionWhoseIdIsUsedAgainIsNotTheOneThatItHad) {
  begin({});
  const SessionId order = must(SessionId::parse("order-1"));
  Checkpointer book(*store, {.lease_time = std::chrono::hours(1), .clock = &clock});
  must(book.start_session(order));
  must(book.save_checkpoint(order, {.spent_micros = 7}));
  clock.advance(std::chrono::hours(2));
  must(store->upkeep().remove(order));
  must(runtime->renew());
  const Session again = must(runtime->create({.id = order}));

  const auto loaded = book.load_latest(order);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::lease_held);
}

INSTANTIATE_TEST_SUITE_P(Every, CheckpointerAndRuntime, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
