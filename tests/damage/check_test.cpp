// Each fault planted by itself, by hand: a check names it, and nothing else.

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "damage/sample.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class Check : public testing::Test {
 protected:
  Check() { sample = make_sample(path, false); }

  void edit(const std::string& sql) const {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
    connection.execute(sql);
    ASSERT_GT(connection.changes(), 0) << "the edit changed nothing";
  }

  [[nodiscard]] CheckReport check() const {
    return open_store(path).value()->upkeep().check().value();
  }

  // The one kind of fault that an edit plants.
  void expect(Fault fault, const std::string& word) const {
    const CheckReport report = check();
    EXPECT_FALSE(report.is_sound());
    EXPECT_THAT(report.damage, Contains(AllOf(Field(&Damage::fault, fault),
                                              Field(&Damage::what, HasSubstr(word)))))
        << testing::PrintToString(texts(report));
  }

  static std::vector<std::string> texts(const CheckReport& report) {
    std::vector<std::string> found;
    for (const Damage& damage : report.damage) {
      found.push_back(std::string(to_string(damage.fault)) + ": " + damage.what);
    }
    return found;
  }

  TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  Sample sample;
};

TEST_F(Check, OfASoundStoreFindsNothingAndCountsEverything) {
  const CheckReport report = check();

  EXPECT_THAT(texts(report), IsEmpty());
  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.sessions, sample.named.sessions.size());
  EXPECT_EQ(report.commits, sample.named.receipts.size());
  EXPECT_EQ(report.blobs, sample.named.blobs.size());
  EXPECT_EQ(report.calls, sample.named.keys.size());
  EXPECT_GT(report.entries, 100U);
  EXPECT_GT(report.bytes, 100'000U);
}

TEST_F(Check, ToldToStopSaysThatItIsNotComplete) {
  int calls = 0;
  const auto report = open_store(path).value()->upkeep().check([&](const Step& step) {
    EXPECT_LE(step.done, step.total);
    return ++calls < 3;
  });

  ASSERT_TRUE(report);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(report->is_complete);
  EXPECT_FALSE(report->is_sound());
}

TEST_F(Check, FindsABodyThatDoesNotMatchItsHash) {
  edit("UPDATE entry SET body = x'00' WHERE id & 0xFFFFFFFF = 7 AND id >> 32 = 1");
  expect(Fault::chain, "position 7 of session ses_long has a body that does not match its hash");
}

TEST_F(Check, FindsAnEntryThatWasChangedWithItsHash) {
  edit("UPDATE entry SET kind = 'other' WHERE id & 0xFFFFFFFF = 7 AND id >> 32 = 1");
  expect(Fault::chain, "does not match the hash chain");
}

TEST_F(Check, FindsAnEntryThatIsMissing) {
  edit("DELETE FROM entry WHERE id & 0xFFFFFFFF IN (7, 8) AND id >> 32 = 1");
  const CheckReport report = check();
  EXPECT_THAT(report.damage,
              Contains(AllOf(Field(&Damage::fault, Fault::order), Field(&Damage::first, 7U),
                             Field(&Damage::last, 7U), Field(&Damage::what, HasSubstr("missing")))))
      << testing::PrintToString(texts(report));
}

// Nothing but a fork has them any more, and no receipt speaks of them.
class CheckOfAHeir : public Check {
 protected:
  CheckOfAHeir() {
    auto store = open_store(path).value();
    const SessionId parent = SessionId::parse("ses_heirless").value();
    const SessionId heir = SessionId::parse("ses_heir").value();
    const WorkerId worker = WorkerId::parse("worker").value();
    EXPECT_TRUE(store->sessions().create({.id = parent}));
    EXPECT_TRUE(store->ownership().enroll({.id = worker}));
    const Lease lease = store->ownership().acquire(parent, worker).value();
    Batch batch{.id = BatchId::parse("b").value()};
    for (int i = 0; i < 3; ++i) {
      batch.entries.push_back({.channel = "c", .kind = "k", .body = Body::from_text("\"text\"")});
    }
    EXPECT_TRUE(store->commit(lease, batch));
    EXPECT_TRUE(store->sessions().create(
        {.id = heir, .origin = {{.session = parent, .at = Point::position(3)}}}));
    EXPECT_TRUE(store->ownership().release(lease));
    EXPECT_TRUE(store->upkeep().remove(parent));
    EXPECT_TRUE(store->upkeep().check().value().is_sound());
  }

  static constexpr const char* shared =
      " WHERE id >> 32 = (SELECT g.parent FROM segment g JOIN session s ON s.num = g.session "
      "WHERE s.id = 'ses_heir') AND id & 0xFFFFFFFF = 2";
};

TEST_F(CheckOfAHeir, FindsASharedBodyThatDoesNotMatchItsHash) {
  edit(std::string("UPDATE entry SET body = x'00'") + shared);
  expect(Fault::chain, "removed session share, has a body that does not match its hash");
}

TEST_F(CheckOfAHeir, FindsASharedEntryThatIsMissing) {
  edit(std::string("DELETE FROM entry") + shared);
  expect(Fault::order, "removed session share, is missing");
  EXPECT_THAT(check().damage,
              Contains(Field(&Damage::session, SessionId::parse("ses_heir").value())));
}

TEST_F(Check, TakesPrunedEntriesForWhatTheyAre) {
  edit(
      "INSERT INTO pruned SELECT 1, 7, 9, count(*), sum(turns), sum(steps), sum(tokens_in), "
      "sum(tokens_out), sum(cost_micros) FROM entry WHERE id BETWEEN (1 << 32) + 7 AND (1 << 32) + "
      "8");
  edit("DELETE FROM entry WHERE id & 0xFFFFFFFF IN (7, 8) AND id >> 32 = 1");
  EXPECT_THAT(texts(check()), IsEmpty());
}

TEST_F(Check, CountsWhatPrunedEntriesAdded) {
  edit(
      "INSERT INTO pruned SELECT 1, 7, 9, count(*), 999, sum(steps), sum(tokens_in), "
      "sum(tokens_out), sum(cost_micros) FROM entry WHERE id BETWEEN (1 << 32) + 7 AND (1 << 32) + "
      "8");
  edit("DELETE FROM entry WHERE id & 0xFFFFFFFF IN (7, 8) AND id >> 32 = 1");
  expect(Fault::summary, "totals");
}

TEST_F(Check, TakesAnErasedBodyForWhatItIs) {
  edit("UPDATE entry SET body = NULL, codec = -1 - codec WHERE id = (1 << 32) + 7");
  EXPECT_THAT(texts(check()), IsEmpty());
}

TEST_F(Check, FindsABodyThatIsMissingAndWasNotErased) {
  edit("UPDATE entry SET body = NULL WHERE id = (1 << 32) + 7");
  expect(Fault::chain, "has a body that does not match its hash");
}

TEST_F(Check, FindsAnEntryThatNoCommitPutThere) {
  edit(
      "INSERT INTO entry SELECT id + 1000, channel, kind, fold, codec, at, turns, steps, "
      "tokens_in, "
      "tokens_out, cost_micros, hash, body FROM entry WHERE id = (1 << 32) + 7");
  expect(Fault::order, "segment 1 has");
}

TEST_F(Check, FindsAReceiptThatIsMissing) {
  edit("DELETE FROM receipt WHERE session = 1 AND number = 5");
  expect(Fault::chain, "the receipts of commits 5 to 5 are missing");
}

TEST_F(Check, FindsAReceiptThatWasChanged) {
  edit("UPDATE receipt SET at = at + 1 WHERE session = 1 AND number = 2");
  expect(Fault::chain, "commit 2");
}

TEST_F(Check, FindsAVersionAtAnotherPosition) {
  edit("UPDATE checkpoint SET position = position - 1 WHERE session = 1 AND version = 2");
  expect(Fault::order, "version 2 names position");
}

TEST_F(Check, FindsAVersionWithOtherTotals) {
  edit("UPDATE checkpoint SET cost_micros = cost_micros + 1 WHERE session = 1 AND version = 2");
  expect(Fault::summary, "the totals of version 2");
}

TEST_F(Check, FindsASummaryWithOtherTotals) {
  edit("UPDATE session SET tokens_in = tokens_in + 1 WHERE id = 'ses_fork'");
  expect(Fault::summary, "the totals of the session");
}

TEST_F(Check, FindsASummaryWithAnotherHead) {
  edit("UPDATE session SET head = head - 1 WHERE id = 'ses_fork'");
  expect(Fault::summary, "the session's row says its head is");
}

TEST_F(Check, FindsASummaryWithAnotherNumberOfCallsInDoubt) {
  edit("UPDATE session SET attention = 0 WHERE id = 'ses_long'");
  expect(Fault::summary, "calls in doubt is 0, and it is 1");
}

TEST_F(Check, FindsACallThatCannotBe) {
  edit("UPDATE call SET attempts = 0 WHERE state = 'succeeded'");
  expect(Fault::ledger, "it is succeeded after 0 attempts");
}

TEST_F(Check, FindsACallWithoutItsArguments) {
  edit("UPDATE call SET args = 1000 WHERE state = 'succeeded'");
  expect(Fault::reference, "has its arguments at position 1000, where no entry is");
}

TEST_F(Check, FindsACallThatNoCommitIntended) {
  edit("UPDATE call SET position = 1000 WHERE state = 'intended'");
  expect(Fault::ledger, "calls, and its commits made");
}

TEST_F(Check, FindsTwoHoldersOfOneKey) {
  edit(
      "UPDATE call SET key = (SELECT key FROM call WHERE state = 'succeeded') "
      "WHERE state = 'in_doubt'");
  expect(Fault::ledger, "is held by more than one call");
}

TEST_F(Check, FindsABlobThatIsMissing) {
  edit("DELETE FROM blob WHERE size = 50");
  expect(Fault::reference, "names a blob that is not there");
}

TEST_F(Check, FindsABlobThatWasChanged) {
  edit("UPDATE blob SET bytes = zeroblob(50) WHERE size = 50");
  expect(Fault::chain, "does not match its name");
}

TEST_F(Check, FindsASegmentThatIsMissing) {
  edit("DELETE FROM segment WHERE num = 1");
  expect(Fault::reference, "segment 1, which");
}

TEST_F(Check, FindsRowsOfASessionThatIsNotThere) {
  edit("DELETE FROM session WHERE id = 'ses_small_3'");
  expect(Fault::reference, "in table receipt, and no such session");
}

TEST_F(Check, FindsAnIndexThatLacksARow) {
  edit(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM "
      "sqlite_schema WHERE name = 'segment_parent') WHERE name = 'segment_session'");
  expect(Fault::file, "the file is damaged");
}

}  // namespace
}  // namespace perdure
