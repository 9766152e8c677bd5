// A bundle that somebody made up, every sum and hash computed anew: where its totals or its ledger do not
// follow from its own entries it is refused, whatever the store, and leaves nothing behind.

#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "copy/household.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/false_store.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// Changes the first fact that it fits; the others stay.
template <class OneFact>
FalseStore::Change on_first(std::function<bool(OneFact&)> change) {
  return [change, done = std::make_shared<std::optional<OneFact>>()](Fact& fact) {
    auto* one = std::get_if<OneFact>(&fact);
    if (one == nullptr) return;
    const OneFact before = *one;
    if (*done ? **done == before : true) {
      if (change(*one)) *done = before;
    }
  };
}

FalseStore::Change on_row(const std::function<void(SessionFact::Row&)>& change) {
  return on_first<SessionFact>([change](SessionFact& fact) {
    if (!fact.row || fact.row->commits == 0) return false;
    change(*fact.row);
    return true;
  });
}

FalseStore::Change on_call(CallState state, const std::function<void(CallFact&)>& change) {
  return on_first<CallFact>([state, change](CallFact& fact) {
    if (fact.call.state != state) return false;
    change(fact);
    return true;
  });
}

class ContradictingBundle : public testing::TestWithParam<Backend> {
 protected:
  ContradictingBundle() { furnish(*from, clock, Size::small); }

  /// What an import says of a bundle with facts that were changed so; empty: it took it.
  std::string refusal(const FalseStore::Change& change) {
    FalseStore liar(*from);
    liar.on_read(change);
    const std::string path = folder.file(fmt::format("false {}", ++lies));
    must(export_sessions(liar, path, {.with_damage = true}));
    const auto imported = import_bundle(*to, path);
    EXPECT_THAT(must(to->sessions().list({})).sessions, IsEmpty());
    EXPECT_THAT(must(to->ledger().list({})), IsEmpty());
    const auto report = must(to->upkeep().check());
    EXPECT_TRUE(report.is_sound());
    EXPECT_EQ(report.entries, 0U);
    if (imported) return {};
    EXPECT_EQ(imported.error().code, ErrorCode::corrupted);
    return imported.error().message;
  }

  const TempFolder folder = TempFolder::in_memory();
  FakeClock clock;
  StorePlace place{GetParam()};
  const std::unique_ptr<Store> from = must(open_store("memory:", {.clock = &clock}));
  const std::unique_ptr<Store> to = must(open_store(place.location(), {.clock = &clock}));
  int lies = 0;
};

TEST_P(ContradictingBundle, IsRefusedForTotalsThatAreNotThoseOfItsEntries) {
  EXPECT_THAT(refusal(on_row([](auto& row) { row.summary.tally.cost_micros -= 1; })),
              AllOf(HasSubstr("contradicts itself"),
                    HasSubstr("the totals of the session are not those of its entries")));
  EXPECT_THAT(refusal(on_first<CheckpointFact>([](CheckpointFact& fact) {
                fact.checkpoint.tally.tokens_in += 1;
                return true;
              })),
              HasSubstr("are not those of its entries"));
  // What an entry adds is sealed with it.
  EXPECT_THAT(refusal(on_first<Entry>([](Entry& entry) {
                entry.tally.turns += 1;
                return true;
              })),
              HasSubstr("was damaged when it was exported"));
  EXPECT_THAT(refusal(on_first<PrunedFact>([](PrunedFact& fact) {
                fact.tally.turns += 1;
                return true;
              })),
              HasSubstr("are not those of its entries"));
}

TEST_P(ContradictingBundle, IsRefusedForARowThatDoesNotFollowFromItsLog) {
  EXPECT_THAT(refusal(on_row([](auto& row) { row.summary.head -= 1; })), HasSubstr("its head is"));
  EXPECT_THAT(refusal(on_row([](auto& row) { row.summary.next += 1; })),
              HasSubstr("its next position is"));
  EXPECT_THAT(refusal(on_row([](auto& row) { row.summary.version += 1; })),
              HasSubstr("its version is"));
  EXPECT_THAT(refusal(on_row([](auto& row) { row.summary.attention += 1; })),
              HasSubstr("number of calls in doubt is"));
  EXPECT_THAT(refusal(on_first<CheckpointFact>([](CheckpointFact& fact) {
                fact.checkpoint.position += 1;
                return true;
              })),
              HasSubstr("names position"));
}

TEST_P(ContradictingBundle, IsRefusedForCallsThatCannotBe) {
  EXPECT_THAT(refusal(on_call(CallState::succeeded,
                              [](CallFact& fact) {
                                fact.call.attempts = 0;
                                fact.call.dispatched_at.reset();
                              })),
              HasSubstr("it is succeeded after 0 attempts"));
  EXPECT_THAT(
      refusal(on_call(CallState::succeeded, [](CallFact& fact) { fact.call.failures = 3; })),
      HasSubstr("has failed 3 times"));
  EXPECT_THAT(refusal(on_call(CallState::intended,
                              [](CallFact& fact) { fact.call.settled_at = Timestamp{}; })),
              HasSubstr("a time when it was settled"));
}

TEST_P(ContradictingBundle, IsRefusedForCallsThatItsLogDoesNotKnow) {
  EXPECT_THAT(
      refusal(on_call(CallState::succeeded, [](CallFact& fact) { fact.call.result = 90'000; })),
      HasSubstr("has its result at position 90000, where no entry is"));
  EXPECT_THAT(
      refusal(on_call(CallState::succeeded, [](CallFact& fact) { fact.call.args = 90'000; })),
      HasSubstr("has its arguments at position 90000, where no entry is"));
  EXPECT_THAT(refusal(on_call(CallState::succeeded,
                              [](CallFact& fact) { fact.call.intended_at += Duration(1); })),
              HasSubstr("was not intended when its commit was made"));
  EXPECT_THAT(refusal(on_call(CallState::succeeded,
                              [](CallFact& fact) { *fact.call.settled_at += Duration(1); })),
              HasSubstr("no commit was made then"));
  EXPECT_THAT(refusal(on_call(CallState::succeeded,
                              [](CallFact& fact) { *fact.call.dispatched_at -= Duration(1); })),
              HasSubstr("no commit was made then"));
}

TEST_P(ContradictingBundle, IsRefusedForTwoHoldersOfOneKey) {
  EXPECT_THAT(refusal([](Fact& fact) {
                auto* call = std::get_if<CallFact>(&fact);
                if (call != nullptr && call->call.attempts > 0) call->call.key = sha256("one key");
              }),
              HasSubstr("two calls hold one key"));
  EXPECT_THAT(refusal([](Fact& fact) {
                auto* call = std::get_if<CallFact>(&fact);
                if (call != nullptr && call->call.state == CallState::succeeded)
                  call->call.key = sha256("one key");
                if (auto* claim = std::get_if<ClaimFact>(&fact))
                  claim->call.key = sha256("one key");
              }),
              HasSubstr("two calls hold one key"));
  EXPECT_THAT(refusal([](Fact& fact) {
                if (auto* claim = std::get_if<ClaimFact>(&fact))
                  claim->call.state = CallState::failed;
              }),
              HasSubstr("holds a key, and is failed"));
}

TEST_P(ContradictingBundle, IsRefusedForMoneyThatItsBudgetForgets) {
  const auto budget = [](std::int64_t paid, std::int64_t spent) {
    return NewEntry{
        .channel = "budget",
        .kind = "spend",
        .body = Body::from_text(fmt::format(
            R"({{"micros":{},"after":{{"spent":{},"unconfirmed":0,"reserved":0,"granted":0}}}})",
            paid, spent))};
  };
  int stores = 0;
  const auto import_of = [&](std::vector<NewEntry> entries) {
    const auto strange = must(open_store("memory:", {.clock = &clock}));
    const WorkerId worker = must(WorkerId::parse("wrk_1"));
    const SessionId session = must(SessionId::parse("ses_1"));
    must(strange->sessions().create({.id = session}));
    must(strange->ownership().enroll({.id = worker, .host = "there", .pid = 1}));
    const Lease lease = must(strange->ownership().acquire(session, worker));
    must(strange->commit(lease,
                         {.id = must(BatchId::parse("bat_1")), .entries = std::move(entries)}));
    must(strange->ownership().release(lease));
    const std::string path = folder.file(fmt::format("money {}", ++stores));
    must(export_sessions(*strange, path));
    const auto into = must(open_store("memory:", {.clock = &clock}));
    const auto imported = import_bundle(*into, path);
    return imported ? std::string() : imported.error().message;
  };
  EXPECT_EQ(import_of({budget(100, 100), budget(50, 150)}), "");
  EXPECT_THAT(import_of({budget(100, 0)}), HasSubstr("less than was paid"));
  EXPECT_THAT(import_of({budget(100, 100), budget(50, 120)}), HasSubstr("less than was paid"));
  EXPECT_THAT(import_of({budget(100, 100), budget(0, 20)}), HasSubstr("less than was paid"));
}

TEST_P(ContradictingBundle, WhoseClaimsWereNeverMadeHoldsNoKey) {
  std::set<Digest> claimed;
  FalseStore liar(*from);
  liar.on_read([&](Fact& fact) {
    auto* claim = std::get_if<ClaimFact>(&fact);
    if (claim == nullptr) return;
    claim->call.attempts = 0;
    claimed.insert(claim->call.key.value());
  });
  const std::string path = folder.file("unmade");
  must(export_sessions(liar, path));
  static_cast<void>(import_bundle(*to, path));
  ASSERT_THAT(claimed, testing::Not(IsEmpty()));
  for (const Digest& key : claimed) EXPECT_FALSE(must(to->ledger().find_holder(key)));
}

TEST_P(ContradictingBundle, ThatDoesNotIsTaken) {
  const std::string path = folder.file("true");
  must(export_sessions(*from, path));
  const auto imported = import_bundle(*to, path);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(must(to->upkeep().check()).is_sound());
}

INSTANTIATE_TEST_SUITE_P(Each, ContradictingBundle, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
