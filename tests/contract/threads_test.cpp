// "Every method may be called from any thread at any time", with real threads.

#include <atomic>
#include <barrier>
#include <exception>
#include <numeric>
#include <thread>

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

constexpr int thread_count = 8;

/// Runs `work(0)` … `work(7)` at once; what one throws ends the test.
template <class Work>
void at_once(Work work) {
  std::barrier start(thread_count);
  std::vector<std::exception_ptr> thrown(thread_count);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < thread_count; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        try {
          work(i);
        } catch (...) {
          thrown[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

class ThreadsContract : public StoreContract {
 protected:
  static constexpr int rounds = 20;

  static Batch numbered(int thread, int round, Position head) {
    const std::string name = std::to_string(thread) + "/" + std::to_string(round);
    Batch made{.id = batch_id(name), .expected_head = head};
    made.entries = {message(name)};
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, ThreadsContract, testing::ValuesIn(every_form()), name_of);

TEST_P(ThreadsContract, EachThreadCommitsToASessionOfItsOwn) {
  std::vector<Lease> leases;
  for (int i = 0; i < thread_count; ++i) leases.push_back(own(create("s" + std::to_string(i))));

  at_once([&](int thread) {
    const Lease& lease = leases[static_cast<std::size_t>(thread)];
    for (int round = 0; round < rounds; ++round) {
      must(store->commit(lease, numbered(thread, round, static_cast<Position>(round))));
    }
  });

  for (int i = 0; i < thread_count; ++i) {
    std::vector<std::string> expected;
    for (int round = 0; round < rounds; ++round) {
      expected.push_back(std::to_string(i) + "/" + std::to_string(round));
    }
    EXPECT_EQ(texts(session_id("s" + std::to_string(i))), expected);
  }
}

TEST_P(ThreadsContract, ExactlyOneThreadWinsEachHead) {
  const Lease lease = own(create());
  std::vector<int> wins(thread_count, 0);

  at_once([&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      // Everybody tries the head it saw last; who loses learns the head from the conflict.
      const auto seen = must(store->sessions().read(lease.session)).head;
      const auto done = store->commit(lease, numbered(thread, round, seen));
      if (done) ++wins[static_cast<std::size_t>(thread)];
      if (!done && done.error().code != ErrorCode::conflict) must(done);
    }
  });

  const auto won = std::accumulate(wins.begin(), wins.end(), 0);
  EXPECT_GE(won, rounds);
  std::vector<Position> dense(static_cast<std::size_t>(won));
  std::iota(dense.begin(), dense.end(), Position{1});
  EXPECT_EQ(positions(lease.session), dense);
  EXPECT_EQ(row(lease.session).head, static_cast<Position>(won));
}

TEST_P(ThreadsContract, OfManyBatchesForOneHeadOneIsCommitted) {
  const Lease lease = own(create());
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> won = 0;
    at_once([&](int thread) {
      const auto done = store->commit(lease, numbered(thread, round, static_cast<Position>(round)));
      if (done) ++won;
      EXPECT_TRUE(done || (done.error().code == ErrorCode::conflict &&
                           done.error().subject == std::to_string(round + 1)));
    });
    EXPECT_EQ(won, 1);
  }
}

TEST_P(ThreadsContract, ABatchRepeatedAtOnceIsCommittedOnce) {
  const Lease lease = own(create());
  for (int round = 0; round < rounds; ++round) {
    std::vector<Receipt> receipts(thread_count);
    at_once([&](int thread) {
      receipts[static_cast<std::size_t>(thread)] =
          must(store->commit(lease, numbered(0, round, static_cast<Position>(round))));
    });
    for (const Receipt& receipt : receipts) EXPECT_EQ(receipt, receipts[0]);
  }
  EXPECT_EQ(texts(lease.session).size(), static_cast<std::size_t>(rounds));
}

TEST_P(ThreadsContract, OneThreadCreatesASession) {
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> created = 0;
    at_once([&](int) {
      const auto made = store->sessions().create({.id = session_id(std::to_string(round))});
      if (made) ++created;
      EXPECT_TRUE(made || made.error().code == ErrorCode::already_exists);
    });
    EXPECT_EQ(created, 1);
  }
}

TEST_P(ThreadsContract, OneWorkerAcquiresASession) {
  for (int i = 0; i < thread_count; ++i) enroll("w" + std::to_string(i));
  for (int round = 0; round < rounds; ++round) {
    const SessionId session = create("s" + std::to_string(round));
    std::vector<Result<Lease>> grants(thread_count);
    at_once([&](int thread) {
      grants[static_cast<std::size_t>(thread)] =
          store->ownership().acquire(session, worker_id("w" + std::to_string(thread)));
    });
    const std::string owner = row(session).holder->worker.text();
    for (int i = 0; i < thread_count; ++i) {
      const auto& grant = grants[static_cast<std::size_t>(i)];
      if ("w" + std::to_string(i) == owner) {
        EXPECT_EQ(must(grant).fence, 1U);
      } else {
        EXPECT_EQ(code_of(grant), ErrorCode::lease_held);
        EXPECT_EQ(subject_of(grant), owner);
      }
    }
  }
}

TEST_P(ThreadsContract, OneCallClaimsAKeyAndTheOthersLearnWhich) {
  for (int round = 0; round < rounds; ++round) {
    const Digest key = sha256(std::to_string(round));
    std::vector<Lease> leases;
    std::vector<Position> calls;
    for (int i = 0; i < thread_count; ++i) {
      leases.push_back(own(create(std::to_string(round) + "/" + std::to_string(i))));
      calls.push_back(intend(leases.back(), key));
    }
    std::vector<Result<Receipt>> claims(thread_count);
    at_once([&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      Batch made{.id = batch_id("claim"), .expected_head = 1};
      made.calls = {Dispatch{.call = calls[i]}};
      claims[i] = store->commit(leases[i], made);
    });
    const auto holder = must(store->ledger().find_holder(key));
    ASSERT_TRUE(holder);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const bool won = leases[i].session == holder->session;
      EXPECT_EQ(claims[i].has_value(), won);
      if (won) continue;
      EXPECT_EQ(code_of(claims[i]), ErrorCode::conflict);
      EXPECT_EQ(subject_of(claims[i]), call_name(holder->session, holder->position));
    }
  }
}

TEST_P(ThreadsContract, AReaderSeesAllOfACommitOrNoneOfIt) {
  const Lease lease = own(create());
  std::atomic<bool> written = false;
  at_once([&](int thread) {
    if (thread == 0) {
      for (int round = 0; round < rounds; ++round) {
        Batch made{.id = batch_id(std::to_string(round)),
                   .expected_head = static_cast<Position>(round * 3)};
        made.entries = {message("a"), message("b"), message("c")};
        must(store->commit(lease, made));
      }
      written = true;
      return;
    }
    std::size_t seen = 0;
    while (!written) {
      const auto now = must(store->log().read(lease.session, {})).size();
      EXPECT_EQ(now % 3, 0U);
      EXPECT_GE(now, seen);
      seen = now;
    }
  });
}

TEST_P(SurvivingStore, TwoObjectsOnOneStoreTakeTurns) {
  const auto other = must(open());
  std::vector<Lease> leases;
  for (int i = 0; i < thread_count; ++i) leases.push_back(own(create("s" + std::to_string(i))));

  at_once([&](int thread) {
    Store& mine = thread % 2 == 0 ? *store : *other;
    for (int round = 0; round < 10; ++round) {
      Batch made{.id = batch_id(std::to_string(round)),
                 .expected_head = static_cast<Position>(round)};
      made.entries = {message("x")};
      must(mine.commit(leases[static_cast<std::size_t>(thread)], made));
    }
  });

  for (const Lease& lease : leases) {
    EXPECT_EQ(row(lease.session).head, 10U);
    EXPECT_EQ(must(other->sessions().read(lease.session)), row(lease.session));
  }
}

}  // namespace
}  // namespace perdure
