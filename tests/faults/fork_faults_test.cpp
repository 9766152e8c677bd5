// The disk fails for good at the Nth write of a fork that changes something, N = 1, 2, 3 … until
// the fork is made: what is there afterwards has every change.

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "doubles/fault_vfs.hpp"
#include "doubles/must.hpp"
#include "faults/faulty_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

class ForkFaults : public testing::Test {
 protected:
  static Result<std::unique_ptr<Runtime>> work_in(FaultyStore& faulty) {
    return Runtime::start(faulty.store(), {.host = "here",
                                           .pid = 7,
                                           .renews_itself = false,
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

  // Whether it was made, with all its writes failing from that one on.
  bool forks(FaultyStore& faulty, std::uint64_t write) {
    auto runtime = must(work_in(faulty));
    faulty.vfs().only("write");
    faulty.vfs().fail_at(write, IoFault::error, Lasting::for_ever);
    const bool made =
        runtime
            ->fork(
                parent, Point::head(),
                {.id = child, .fresh_effects = true, .system_prompt = "Be long.", .model = "new"})
            .has_value();
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
    ASSERT_TRUE(state.origin);
    EXPECT_EQ(state.origin->root, child.text());
  }

  const SessionId parent = SessionId::parse("parent").value();
  const SessionId child = SessionId::parse("child").value();
};

TEST_F(ForkFaults, LeaveNoForkWithoutItsChanges) {
  bool is_made = false;
  for (std::uint64_t write = 1; !is_made; ++write) {
    SCOPED_TRACE(write);
    FaultyStore faulty;
    begin(faulty);
    is_made = forks(faulty, write);
    const auto row = find_child(faulty);
    ASSERT_TRUE(row || !is_made);
    if (!row) continue;
    EXPECT_EQ(row->status, Status::active);
    expect_whole(faulty);
  }
}

}  // namespace
}  // namespace perdure
