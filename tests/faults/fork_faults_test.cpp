// The disk fails for good at the Nth write of a fork that changes something, or begins with calls,
// N = 1, 2, 3 … until the fork is made: what is there afterwards is all of it, and goes on the same.

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "doubles/fault_vfs.hpp"
#include "doubles/must.hpp"
#include "faults/faulty_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class ForkFaults : public testing::Test {
 protected:
  Result<std::unique_ptr<Runtime>> work_in(FaultyStore& faulty) {
    Tool send{.name = "send", .side_effects = SideEffects{.mutate = true}};
    send.run = [this](const CallContext&) -> ToolOutcome {
      ++sent;
      return Succeeded{.content = "sent"};
    };
    return Runtime::start(faulty.store(), {.host = "here",
                                           .pid = 7,
                                           .renews_itself = false,
                                           .tools = must(Tools::of({send})),
                                           .clock = &faulty.clock(),
                                           .ids = &random_ids()});
  }

  void begin(FaultyStore& faulty) {
    auto runtime = must(work_in(faulty));
    Session session = must(runtime->create(
        {.id = parent, .setup = perdure::Setup{.system_prompt = "Be short.", .model = "old"}}));
    must(session.append(user_says("go on")));
    must(session.close());
  }

  // The response that asks for two calls, which its session then makes.
  Position begin_with_calls(FaultyStore& faulty) {
    auto runtime = must(work_in(faulty));
    Session session = must(runtime->create({.id = parent}));
    must(session.record_request({}, user_says("go on")));
    Message response{.role = Role::assistant};
    for (const char* const call : {"a", "b"}) {
      response.blocks.emplace_back(ToolCallBlock{.id = call, .name = "send", .args = "{}"});
    }
    const Position asked = must(session.record_response(std::move(response)));
    must(session.run_calls());
    must(session.close());
    return asked;
  }

  // Whether it was made, with all its writes failing from that one on.
  bool forks(FaultyStore& faulty, std::uint64_t write, Point at, ForkSpec spec) {
    spec.id = child;
    auto runtime = must(work_in(faulty));
    faulty.vfs().only("write");
    faulty.vfs().fail_at(write, IoFault::error, Lasting::for_ever);
    const bool made = runtime->fork(parent, at, spec).has_value();
    runtime.reset();
    faulty.vfs().heal();
    faulty.reopen();
    return made;
  }

  std::optional<SessionSummary> find_child(FaultyStore& faulty) const {
    auto row = faulty.store().sessions().read(child);
    if (!row) return std::nullopt;
    return *std::move(row);
  }

  void expect_whole(FaultyStore& faulty) const {
    const State state = must(read_state(faulty.store(), child, Point::head()));
    ASSERT_TRUE(state.setup);
    EXPECT_EQ(state.setup->system_prompt, "Be long.");
    EXPECT_EQ(state.setup->model, "new");
    ASSERT_TRUE(state.details->origin);
    EXPECT_EQ(state.details->origin->root, child.text());
  }

  int sent = 0;
  const SessionId parent = SessionId::parse("parent").value();
  const SessionId child = SessionId::parse("child").value();
};

TEST_F(ForkFaults, LeaveNoForkWithoutItsChanges) {
  bool is_made = false;
  for (std::uint64_t write = 1; !is_made; ++write) {
    SCOPED_TRACE(write);
    FaultyStore faulty;
    begin(faulty);
    is_made = forks(faulty, write, Point::head(),
                    {.fresh_effects = true, .system_prompt = "Be long.", .model = "new"});
    const auto row = find_child(faulty);
    ASSERT_TRUE(row || !is_made);
    if (!row) continue;
    EXPECT_EQ(row->status, Status::active);
    expect_whole(faulty);
  }
}

TEST_F(ForkFaults, LeaveNoForkWithoutItsCalls) {
  bool is_made = false;
  for (std::uint64_t write = 1; !is_made; ++write) {
    SCOPED_TRACE(write);
    FaultyStore faulty;
    const Position response = begin_with_calls(faulty);
    is_made = forks(faulty, write, Point::position(response), {});
    ASSERT_TRUE(find_child(faulty) || !is_made);
    if (!find_child(faulty)) continue;
    sent = 0;
    auto runtime = must(work_in(faulty));
    Resumed resumed = must(runtime->resume(child));
    EXPECT_EQ(sent, 2);
    EXPECT_TRUE(resumed.session.state().details->open_calls.empty());
    EXPECT_TRUE(resumed.session.record_request());
    must(resumed.session.close());
  }
}

}  // namespace
}  // namespace perdure
