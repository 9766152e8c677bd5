// Numbers nobody should send: limits, positions, versions, fences, sizes and times from
// the ends of their types, and cursors that were tampered with.

#include <limits>

#include "contract/store_contract.hpp"
#include "perdure/store/log.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

/// 2^32 and beyond it, where a packed key would run into the next segment; the ends of
/// signed and unsigned 64 bits.
std::vector<std::uint64_t> far_numbers() {
  return {std::uint64_t{1} << 32U,
          (std::uint64_t{1} << 32U) + 1,
          (std::uint64_t{2} << 32U) + 1,
          (std::uint64_t{1} << 63U) - 1,
          std::uint64_t{1} << 63U,
          (std::uint64_t{1} << 63U) + 1,
          largest - 1,
          largest};
}

class HostileNumbers : public StoreContract {
 protected:
  HostileNumbers() {
    say(lease, "one");
    checkpoint(lease, "kept");
    in_state(lease, CallState::dispatched);
  }

  template <class T>
  void expect_conflict_or_worse(const Result<T>& result, std::uint64_t number) {
    const auto code = code_of(result);
    EXPECT_TRUE(code == ErrorCode::conflict || code == ErrorCode::invalid_argument) << number;
  }

  SessionId session = create("session");
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileNumbers, testing::ValuesIn(every_form()), name_of);

TEST_P(HostileNumbers, LimitsBeyondTheMaximumAreRefusedEverywhere) {
  const auto negative = static_cast<std::size_t>(-1);
  for (const std::size_t limit :
       {std::size_t{0}, limit_max + 1, std::size_t{1} << 63U, negative - 1, negative}) {
    const auto bad = ErrorCode::invalid_argument;
    EXPECT_EQ(code_of(store->sessions().list({.limit = limit})), bad) << limit;
    EXPECT_EQ(code_of(store->sessions().due(limit)), bad) << limit;
    EXPECT_EQ(code_of(store->log().read(session, {.limit = limit})), bad) << limit;
    EXPECT_EQ(code_of(store->log().checkpoints(session, {.limit = limit})), bad) << limit;
    EXPECT_EQ(code_of(store->ledger().list({.limit = limit})), bad) << limit;
    EXPECT_EQ(code_of(store->inbox().list(session, limit)), bad) << limit;
  }
}

TEST_P(HostileNumbers, FarPointsAreNotFound) {
  Log& log = store->log();
  for (const std::uint64_t number : far_numbers()) {
    for (const Point point : {Point::version(number), Point::position(number)}) {
      EXPECT_EQ(code_of(log.read(session, as_of(point))), ErrorCode::not_found) << number;
      EXPECT_EQ(code_of(store->lookup().line(session, point)), ErrorCode::not_found) << number;
      EXPECT_EQ(code_of(log.find_value(session, "plan", point)), ErrorCode::not_found) << number;
      EXPECT_EQ(code_of(store->sessions().create(
                    {.id = session_id("fork"), .origin = NewSession::Origin{session, point}})),
                ErrorCode::not_found)
          << number;
    }
    EXPECT_EQ(code_of(log.read_checkpoint(session, number)), ErrorCode::not_found) << number;
    EXPECT_EQ(code_of(store->ledger().read(session, number)), ErrorCode::not_found) << number;
    EXPECT_EQ(must(log.checkpoints(session, {.before = number})).size(), 1U) << number;
    EXPECT_THAT(texts(session, {.from = number}), IsEmpty()) << number;
    EXPECT_EQ(texts(session, {.to = number}).size(), 2U) << number;
    EXPECT_THAT(texts(session, {.from = number, .to = 1}), IsEmpty()) << number;
  }
}

TEST_P(HostileNumbers, FarPositionsInABatchAreRefused) {
  const auto before = everything(*store);
  for (const std::uint64_t number : far_numbers()) {
    Batch made = batch_of(session, {message("x")});
    const Position at = row(session).next;
    made.expected_head = number;
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::conflict) << number;
    made = batch_of(session, {message("x")});
    for (const Point point : {Point::version(number), Point::position(number)}) {
      made.branch_from = point;
      EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument) << number;
    }
    made.branch_from.reset();
    for (const CallChange& change : std::vector<CallChange>{
             Intend{.call = number, .args = at, .tool = "t"},
             Intend{.call = at, .args = number, .tool = "t"}, Dispatch{.call = number},
             Settle{.call = number, .state = CallState::failed},
             Settle{.call = 2, .state = CallState::succeeded, .result = number}}) {
      made.calls = {change};
      expect_conflict_or_worse(store->commit(lease, made), number);
    }
    Lease far = lease;
    far.fence = number;
    EXPECT_EQ(code_of(store->commit(far, batch(session))), ErrorCode::lease_lost) << number;
    EXPECT_TRUE(store->ownership().release(far)) << number;
  }
  EXPECT_EQ(everything(*store), before);
}

TEST_P(HostileNumbers, FarSizesOfBlobsNameNothing) {
  const BlobRef ref = must(store->blobs().put("bytes"));
  for (const std::uint64_t number : far_numbers()) {
    const BlobRef far{ref.digest, number};
    EXPECT_EQ(code_of(store->blobs().get(far)), ErrorCode::not_found) << number;
    EXPECT_EQ(code_of(store->blobs().read(far, 0, 1)), ErrorCode::not_found) << number;
    EXPECT_FALSE(must(has_blob(store->blobs(), far))) << number;
    EXPECT_EQ(must(store->blobs().read(ref, number, number)), "") << number;
    EXPECT_EQ(must(store->blobs().read(ref, 1, number)), "ytes") << number;
    Batch made = batch_of(session, {message("x")});
    made.entries[0].body = Body::from_blob(far);
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument) << number;
  }
}

TEST_P(HostileNumbers, TimesFromTheEndsAreKept) {
  for (const Timestamp time : {Timestamp::min(), Timestamp::max(), Timestamp(Duration(-1))}) {
    Batch made = batch_of(session, {message("x")});
    const Position at = row(session).next;
    made.entries[0].at = time;
    made.calls = {Intend{.call = at, .args = at, .tool = "t"},
                  Dispatch{.call = at, .deadline = time}};
    made.status = StatusChange{.status = Status::waiting, .wait_reason = "", .wake_at = time};
    commit(lease, made);
    EXPECT_EQ(must(store->log().read(session, {.from = at})).at(0).at, time);
    EXPECT_EQ(call(session, at).deadline, time);
    EXPECT_EQ(row(session).wake_at, time);
    EXPECT_TRUE(store->sessions().due(10));
  }
}

TEST_P(HostileNumbers, WaitingForAnOddTimeEnds) {
  const std::uint64_t now = must(store->change_number());
  // The second is one that wraps far into the future when it is counted in nanoseconds.
  for (const Duration timeout : {Duration::min(), Duration(-13'835'058'055'282), Duration(-1)}) {
    EXPECT_TRUE(store->wait_for_change(largest, timeout)) << timeout.count();
  }
  post(session, "m");
  EXPECT_GT(must(store->wait_for_change(now, Duration::max())), now);
}

class HostileCursors : public StoreContract {
 protected:
  HostileCursors() {
    for (const std::string name : {"a", "b", "c"}) create(name);
  }

  void expect_refused(const SessionQuery& query) {
    EXPECT_EQ(code_of(store->sessions().list(query)), ErrorCode::invalid_argument)
        << describe(query.cursor);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileCursors, testing::ValuesIn(every_form()), name_of);

TEST_P(HostileCursors, CutOrChangedAnywhereAreRefused) {
  for (const SessionSort sort : {SessionSort::updated, SessionSort::title}) {
    const SessionQuery query{.sort = sort, .limit = 1};
    const std::string cursor = must(store->sessions().list(query)).next;
    ASSERT_FALSE(cursor.empty());
    for (std::size_t i = 0; i < cursor.size(); ++i) {
      SessionQuery changed = query;
      if (i > 0) {
        changed.cursor = cursor.substr(0, i);
        expect_refused(changed);
      }
      for (unsigned bit = 0; bit < 8; ++bit) {
        changed.cursor = cursor;
        changed.cursor[i] = static_cast<char>(static_cast<unsigned char>(cursor[i]) ^ (1U << bit));
        expect_refused(changed);
      }
    }
  }
}

TEST_P(HostileCursors, OfAnySortServeNoOther) {
  constexpr std::array sorts = {SessionSort::updated, SessionSort::created, SessionSort::title,
                                SessionSort::turns, SessionSort::cost};
  for (const SessionSort from : sorts) {
    const std::string cursor = must(store->sessions().list({.sort = from, .limit = 1})).next;
    for (const SessionSort to : sorts) {
      if (from != to) expect_refused({.sort = to, .limit = 1, .cursor = cursor});
    }
    expect_refused({.parent = SessionId(), .sort = from, .limit = 1, .cursor = cursor});
  }
}

TEST_P(HostileCursors, ThatAreNoneAreRefused) {
  for (const std::string& text :
       {std::string("\0", 1), std::string("'; DROP TABLE session; --"), std::string(1U << 20U, 'f'),
        std::string(1U << 20U, '\xff'), std::string("0"), std::string("  "), std::string(32, '0'),
        std::string(34, '0'), std::string("-1")}) {
    expect_refused({.limit = 1, .cursor = text});
  }
}

}  // namespace
}  // namespace perdure
