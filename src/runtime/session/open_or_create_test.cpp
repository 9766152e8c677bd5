// One call for a session that may be there or not, and who gets it when several ask at once.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class OpenOrCreate : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Store> open_again() {
    return must(open_store(home.location(), {.clock = &clock, .ids = &ids}));
  }
  std::unique_ptr<Runtime> start(Store& in, std::int64_t pid) {
    return must(Runtime::start(
        in, {.host = "here", .pid = pid, .renews_itself = false, .clock = &clock, .ids = &ids}));
  }
  std::size_t origins() { return must(store->log().read(id, {.channel = "origin"})).size(); }

  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  SessionId id = SessionId::parse("invoice 7").value();
  std::unique_ptr<Store> store = open_again();
  std::unique_ptr<Runtime> runtime = start(*store, 7);
  std::unique_ptr<Runtime> other = start(*store, 8);
};

TEST_P(OpenOrCreate, CreatesWhatTheSpecSaysAndThenOpensItAsItIs) {
  {
    const Session made = must(runtime->open_or_create(
        id, {.annotation = {.title = "first"}, .input = user_says("Hello!")}));
    EXPECT_EQ(made.id(), id);
    EXPECT_EQ(made.state().transcript.size(), 1U);
  }
  const Session opened = must(runtime->open_or_create(
      id, {.annotation = {.title = "second"}, .input = user_says("Hello again!")}));
  EXPECT_EQ(opened.state().transcript.size(), 1U);
  EXPECT_EQ(must(store->sessions().read(id)).title, "first");
  EXPECT_EQ(origins(), 1U);
}

TEST_P(OpenOrCreate, GoesByTheIdOfTheCallNotOfTheSpec) {
  const auto elsewhere = SessionId::parse("invoice 8").value();
  EXPECT_EQ(must(runtime->open_or_create(id, {.id = elsewhere})).id(), id);
}

TEST_P(OpenOrCreate, IsRefusedWhileAnotherHasTheSession) {
  const Session held = must(runtime->open_or_create(id));
  for (Runtime* asking : {runtime.get(), other.get()}) {
    const auto refused = asking->open_or_create(id);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  }
}

// Another process creates it after this one has looked, and before this one writes.
TEST_P(OpenOrCreate, FindsWhatAnotherCreatedMeanwhileAndKeeps) {
  std::optional<Session> theirs;
  ids.meanwhile = [&] { theirs = must(other->open_or_create(id)); };

  const auto refused = runtime->open_or_create(id);

  ASSERT_TRUE(theirs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  EXPECT_EQ(origins(), 1U);
}

TEST_P(OpenOrCreate, OpensWhatAnotherCreatedMeanwhileAndGaveUp) {
  ids.meanwhile = [&] {
    Session theirs = must(other->open_or_create(id));
    must(theirs.append(user_says("theirs")));
  };
  const Session ours = must(runtime->open_or_create(id));
  EXPECT_EQ(ours.state().transcript.size(), 1U);
  EXPECT_EQ(origins(), 1U);
}

// Another thread of this process has the session's place and has not committed yet.
TEST_P(OpenOrCreate, IsRefusedWhileAnotherThreadIsAboutToCreateIt) {
  std::optional<Error> refusal;
  ids.meanwhile = [&] {
    ids.meanwhile = [&] {
      auto refused = runtime->open_or_create(id);
      ASSERT_FALSE(refused);
      refusal = std::move(refused.error());
    };
  };

  const Session made = must(runtime->open_or_create(id, {.input = user_says("Hello!")}));

  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, ErrorCode::lease_held);
  EXPECT_NE(refusal->message.find("is being created by another thread"), std::string::npos)
      << refusal->message;
  EXPECT_EQ(made.state().transcript.size(), 1U);
}

class OpenOrCreateRace : public testing::TestWithParam<Backend> {
 protected:
  static constexpr std::size_t each = 4;

  /// Runs it in `each` threads of each of two processes, all at once; a process is a store object
  /// and a pid.
  template <class Code>
  void race(const Code& code) {
    const auto first = must(open_store(home.location()));
    const auto second = GetParam().survives() ? must(open_store(home.location())) : nullptr;
    const auto seven = must(Runtime::start(*first, {.host = "here", .pid = 7}));
    const auto eight = must(Runtime::start(second ? *second : *first, {.host = "here", .pid = 8}));
    std::latch begin(2 * each);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2 * each; ++i) {
      threads.emplace_back([&, i] {
        begin.arrive_and_wait();
        code(i % 2 == 0 ? *seven : *eight);
      });
    }
    threads.clear();
    const Session last = must(seven->open_or_create(id, {}, std::chrono::minutes(2)));
    messages = last.state().transcript.size();
    origins = must(first->log().read(id, {.channel = "origin"})).size();
  }

  StorePlace home{GetParam()};
  SessionId id = SessionId::parse("invoice 7").value();
  std::size_t messages = 0;
  std::size_t origins = 0;
};

TEST_P(OpenOrCreateRace, HasOneWinnerAndTheOthersAreToldThatItIsHeld) {
  std::latch all_have_asked(2 * each);
  std::atomic<int> won = 0;

  race([&](Runtime& runtime) {
    auto got = runtime.open_or_create(id);
    if (got) {
      ++won;
    } else {
      EXPECT_EQ(got.error().code, ErrorCode::lease_held) << got.error().message;
    }
    all_have_asked.arrive_and_wait();
  });

  EXPECT_EQ(won, 1);
  EXPECT_EQ(origins, 1U);
}

TEST_P(OpenOrCreateRace, IsWonByAllOneAfterTheOtherIfTheyWait) {
  race([&](Runtime& runtime) {
    Session session = must(runtime.open_or_create(id, {}, std::chrono::minutes(2)));
    must(session.append(user_says("me too")));
  });
  EXPECT_EQ(messages, 2 * each);
  EXPECT_EQ(origins, 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, OpenOrCreate, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });
INSTANTIATE_TEST_SUITE_P(Every, OpenOrCreateRace, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
