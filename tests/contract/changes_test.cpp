// changes.hpp made executable. Waits end by a signal; the long timeouts are never used up.

#include <future>
#include <thread>

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

/// Far beyond what any machine needs, so that only a missed signal reaches it.
constexpr Duration deadline = 60s;

class ChangesContract : public StoreContract {
 protected:
  std::uint64_t current() { return must(store->change_number()); }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, ChangesContract, testing::ValuesIn(every_form()), name_of);

TEST_P(ChangesContract, TheNumberRisesWithEveryWrite) {
  std::vector<std::uint64_t> seen{current()};
  const auto look = [&] { seen.push_back(current()); };
  const SessionId session = create();
  look();
  const Lease lease = own(session);
  look();
  say(lease, "one");
  look();
  must(store->sessions().annotate(session, {.title = "New"}));
  look();
  post(session, "m1");
  look();
  must(store->ownership().release(lease));
  look();

  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i], seen[i - 1]) << i;
}

TEST_P(ChangesContract, ReadingDoesNotRaiseTheNumber) {
  const Lease lease = own(create());
  say(lease, "one");
  const auto before = current();

  (void)everything(*store);

  EXPECT_EQ(current(), before);
}

TEST_P(ChangesContract, WaitReturnsAtOnceWhenTheNumberIsAboveSince) {
  const auto before = current();
  create();

  EXPECT_EQ(must(store->wait_for_change(before, deadline)), current());
}

TEST_P(ChangesContract, RunningOutOfTimeIsNotAnError) {
  create();
  const auto before = current();

  EXPECT_EQ(must(store->wait_for_change(before, 0ms)), before);
  EXPECT_EQ(must(store->wait_for_change(before, 5ms)), before);
}

TEST_P(ChangesContract, WaitWakesOnAWriteOfAnotherThread) {
  const Lease lease = own(create());
  for (int i = 0; i < 20; ++i) {
    const auto before = current();
    auto waiting = std::async(std::launch::async,
                              [&] { return must(store->wait_for_change(before, deadline)); });
    const Receipt receipt = say(lease, "now");

    EXPECT_GT(waiting.get(), before);
    EXPECT_EQ(row(lease.session).head, receipt.head);
  }
}

TEST_P(ChangesContract, EveryWaiterWakes) {
  const Lease lease = own(create());
  const auto before = current();
  std::vector<std::future<std::uint64_t>> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(std::async(std::launch::async,
                                 [&] { return must(store->wait_for_change(before, deadline)); }));
  }
  say(lease, "now");

  for (auto& one : waiting) EXPECT_GT(one.get(), before);
}

TEST_P(ChangesContract, WhatWasWrittenBeforeWaitReturnedCanBeRead) {
  const SessionId session = create();
  const auto before = current();
  auto waiting = std::async(std::launch::async, [&] {
    must(store->wait_for_change(before, deadline));
    return must(store->inbox().list(session, 10)).size();
  });
  post(session, "m1");

  EXPECT_EQ(waiting.get(), 1U);
}

TEST_P(SurvivingStore, WaitWakesOnAWriteOfAnotherStoreObject) {
  const Lease lease = own(create());
  const auto other = must(open());
  for (int i = 0; i < 5; ++i) {
    const auto before = must(other->change_number());
    auto waiting = std::async(std::launch::async, [&] {
      const auto now = must(other->wait_for_change(before, deadline));
      return std::pair(now, must(other->sessions().read(lease.session)).head);
    });
    const Receipt receipt = say(lease, "now");

    const auto [now, head] = waiting.get();
    EXPECT_GT(now, before);
    EXPECT_EQ(head, receipt.head);
  }
}

TEST_P(SurvivingStore, TheNumberOfOneObjectRisesWithTheWritesOfAnother) {
  const SessionId session = create();
  const auto other = must(open());
  const auto before = must(other->change_number());

  post(session, "m1");

  EXPECT_GT(must(other->change_number()), before);
}

}  // namespace
}  // namespace perdure
