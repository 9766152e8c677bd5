// At most one live object of a session in a process: a second open, under the same runtime, under
// another one or through another store object, is refused or waits, also once the lease of the first
// object is over. Two objects would make the session's calls twice.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using std::chrono::hours;

class SecondObject : public TurnsTest {
 protected:
  /// What else of this process could open the session: the runtime that has it, one beside it, and one
  /// with a store object of its own. Both call the machine by another name. To be called once the session is begun.
  std::vector<Runtime*> openers() {
    if (beside.empty()) {
      const RuntimeOptions options{.host = "localhost",
                                   .pid = 7,
                                   .renews_itself = false,
                                   .tools = must(Tools::of(tools)),
                                   .clock = &clock};
      beside.push_back(must(Runtime::start(*store, options)));
      if (GetParam().survives()) {
        own_store = must(open_store(home.location(), {.clock = &clock}));
        beside.push_back(must(Runtime::start(*own_store, options)));
      }
    }
    std::vector<Runtime*> all = {runtime.get()};
    for (const auto& each : beside) all.push_back(each.get());
    return all;
  }

  /// The lease of whoever has the session is over; the others could take it.
  void outlive_lease() {
    openers();
    clock.advance(std::chrono::seconds(31));
    for (const auto& each : beside) must(each->renew());
  }

  template <class T>
  static void expect_refused(const Result<T>& opened) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::lease_held);
    EXPECT_NE(opened.error().message.find("this process"), std::string::npos)
        << opened.error().message;
  }

  /// A tool that can be verified, and whose run waits for `may_return`.
  Tool slow_tool() {
    Tool slow = tool("pay");
    slow.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
    behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
      has_begun.set_value();
      may_return.get_future().wait();
      return Succeeded{.content = "paid"};
    };
    return slow;
  }

  std::promise<void> has_begun;
  std::promise<void> may_return;
  std::unique_ptr<Store> own_store;
  std::vector<std::unique_ptr<Runtime>> beside;
};

TEST_P(SecondObject, IsRefusedWhileTheFirstLives) {
  begin({});
  expect_refused(runtime->open(id));
  expect_refused(runtime->resume(id));
  // The refused ones took nothing away.
  must(session->append(user_says("still ours")));

  session.reset();

  EXPECT_TRUE(runtime->open(id));
}

TEST_P(SecondObject, IsRefusedUnderEveryRuntimeAlsoOnceTheLeaseOfTheFirstIsOver) {
  begin({});
  outlive_lease();
  for (Runtime* opener : openers()) {
    expect_refused(opener->open(id));
    expect_refused(opener->resume(id));
  }
  must(runtime->renew());
  must(session->append(user_says("still ours")));

  session.reset();

  for (Runtime* opener : openers()) EXPECT_TRUE(opener->open(id));
}

TEST_P(SecondObject, OfManyOpenersAtOnceOneGetsIt) {
  begin({});
  const std::vector<Runtime*> all = openers();
  session.reset();
  std::vector<std::future<Result<Session>>> opened;
  std::latch at_once(static_cast<std::ptrdiff_t>(2 * all.size()));
  for (std::size_t i = 0; i < 2 * all.size(); ++i) {
    opened.push_back(std::async(std::launch::async, [&, opener = all[i % all.size()]] {
      at_once.arrive_and_wait();
      return opener->open(id);
    }));
  }
  std::vector<Result<Session>> held;
  for (auto& each : opened) held.push_back(each.get());
  EXPECT_EQ(std::ranges::count_if(held, [](const auto& each) { return each.has_value(); }), 1);
  for (const auto& each : held) {
    if (!each) expect_refused(each);
  }
}

TEST_P(SecondObject, OfACheckpointerIsRefusedToo) {
  CheckpointerOptions options{.lease_time = hours(1), .clock = &clock};
  const auto book_id = SessionId::parse("book").value();
  auto first = std::make_unique<Checkpointer>(*store, options);
  must(first->start_session(book_id));
  Checkpointer second(*store, options);
  clock.advance(hours(2));

  expect_refused(second.load_latest(book_id));

  first.reset();
  EXPECT_TRUE(second.start_session(book_id));
}

TEST_P(SecondObject, MayBeOpenedOnceTheFirstIsClosed) {
  begin({});
  must(session->close());

  const auto second = must(runtime->open(id));

  EXPECT_FALSE(session->append(user_says("closed")));
}

TEST_P(SecondObject, MovingASessionKeepsItHeldOnce) {
  begin({});
  std::optional<Session> moved(std::move(*session));
  session.reset();
  expect_refused(runtime->open(id));

  moved.reset();

  EXPECT_TRUE(runtime->open(id));
}

TEST_P(SecondObject, DoesNotMakeACallThatTheFirstIsMaking) {
  begin({slow_tool()});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  auto ran = std::async(std::launch::async, [&] { return session->run_calls(); });
  has_begun.get_future().wait();

  expect_refused(runtime->resume(id));

  may_return.set_value();
  must(ran.get());
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(SecondObject, DoesNotMakeACallThatOutlivesTheLeaseOfTheFirst) {
  begin({slow_tool()});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  outlive_lease();
  must(runtime->renew());
  auto ran = std::async(std::launch::async, [&] { return session->run_calls(); });
  has_begun.get_future().wait();
  outlive_lease();

  for (Runtime* opener : openers()) expect_refused(opener->resume(id));

  may_return.set_value();
  EXPECT_EQ(ran.wait_for(hours(1)), std::future_status::ready);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(SecondObject, ThatWaitsIsRefusedAtItsDeadline) {
  begin({});
  for (Runtime* opener : openers()) {
    auto second = std::async(std::launch::async, [&] { return opener->open(id, hours(1)); });
    // Whenever it begins to wait, its hour passes.
    while (second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      clock.advance(std::chrono::minutes(10));
    }
    expect_refused(second.get());
  }
}

TEST_P(SecondObject, WaitsForTheFirstIfAsked) {
  begin({});
  auto second = std::async(std::launch::async, [&] { return runtime->open(id, hours(1)); });
  must(session->append(user_says("first")));

  session.reset();

  EXPECT_EQ(must(second.get()).state().transcript.size(), 2U);
}

// Waiting for itself it would never end.
TEST_P(SecondObject, IsRefusedAtOnceFromAToolOfTheSession) {
  begin({tool("one")});
  std::optional<Result<Session>> opened;
  behaviour["one"] = [&](const CallContext&) -> ToolOutcome {
    opened.emplace(runtime->open(id, hours(1)));
    return Succeeded{.content = "done"};
  };
  must(session->record_response(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  expect_refused(opened.value());
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(SecondObject, IsRefusedAtOnceFromAToolUnderEveryRuntime) {
  begin({tool("one")});
  std::vector<Result<Session>> opened;
  behaviour["one"] = [&](const CallContext&) -> ToolOutcome {
    for (Runtime* opener : openers()) opened.push_back(opener->open(id, hours(1)));
    outlive_lease();
    for (Runtime* opener : openers()) opened.push_back(opener->open(id, hours(1)));
    return Succeeded{.content = "done"};
  };
  must(session->record_response(asks_for({{"one", "{}"}})));

  [[maybe_unused]] const auto ran = session->run_calls();

  EXPECT_EQ(opened.size(), 2 * openers().size());
  for (const auto& each : opened) expect_refused(each);
}

TEST_P(SecondObject, IsRefusedAtOnceFromAnObserverUnderEveryRuntime) {
  class Opening final : public AgentObserver {
   public:
    explicit Opening(std::function<void()> open) : open_(std::move(open)) {}
    void on_event(const AgentEvent& /*event*/) override { open_(); }

   private:
    std::function<void()> open_;
  };
  AgentSpec spec{.setup = {.model = "m"}};
  spec.make_provider = [](const perdure::Setup&) {
    return make_scripted(R"({"responses": [{"text": "one"}]})");
  };
  const auto agent =
      must(Agent::start(*store, std::move(spec),
                        {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock}));
  auto talk = must(agent->begin());
  std::vector<Result<Session>> opened;
  Opening observer([&] {
    for (Runtime* opener : openers()) {
      opened.push_back(opener->open(talk.session().id(), hours(1)));
    }
  });

  must(talk.run(user_says("hello"), observer));

  EXPECT_GE(opened.size(), openers().size());
  for (const auto& each : opened) expect_refused(each);
}

TEST_P(SecondObject, IsRefusedAtOnceFromPolicyAndVerify) {
  std::vector<Result<Session>> opened;
  const auto open = [&] { opened.push_back(runtime->open(id, hours(1))); };
  Policy policy;
  policy.permit = [&](const State&, const ProposedCall&) {
    open();
    return PermitDecision::allow();
  };
  Tool one = tool("one");
  one.verify = [&](const VerifyContext&) -> Verdict {
    open();
    return Landed{"done"};
  };
  one.end_leftovers = [&](const LeftoverContext&) -> Result<void> {
    open();
    return {};
  };
  behaviour["one"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"lost"}; };
  begin({one}, policy);
  must(session->record_response(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  EXPECT_GE(opened.size(), 3U);
  for (const auto& each : opened) expect_refused(each);
}

INSTANTIATE_TEST_SUITE_P(Every, SecondObject, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
