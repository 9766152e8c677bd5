// Each fault planted by itself, by hand: a check of a store in PostgreSQL names it. As
// damage/check_test.cpp, where there is the same to be planted.

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "damage/sample.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/connection.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

/// A store with something of everything in it, which can be had again as it was.
class PostgresCheck : public testing::Test {
 protected:
  PostgresCheck() { save(); }

  void save() {
    for (const std::string_view table : tables) {
      run(
          fmt::format("DROP TABLE IF EXISTS perdure.saved_{0}; "
                      "CREATE TABLE perdure.saved_{0} AS TABLE perdure.{0}",
                      table));
    }
  }

  void restore() {
    for (const std::string_view table : tables) {
      run(fmt::format("TRUNCATE perdure.{0}; INSERT INTO perdure.{0} TABLE perdure.saved_{0}",
                      table));
    }
  }

  void run(const std::string& sql) {
    cluster().execute(postgres::in_schema(sql, postgres::quoted_name(schema.name())));
  }

  [[nodiscard]] CheckReport check() {
    return must(must(open_store(schema.location()))->upkeep().check());
  }

  static std::vector<std::string> texts(const CheckReport& report) {
    std::vector<std::string> found;
    for (const Damage& damage : report.damage) {
      found.push_back(fmt::format("{}: {}", to_string(damage.fault), damage.what));
    }
    return found;
  }

  struct Planted {
    const char* edit;
    Fault fault;
    const char* word;
  };

  void expect_all(const std::vector<Planted>& all) {
    for (const Planted& planted : all) {
      SCOPED_TRACE(planted.edit);
      run(planted.edit);
      const CheckReport report = check();
      EXPECT_FALSE(report.is_sound());
      EXPECT_THAT(report.damage, Contains(AllOf(Field(&Damage::fault, planted.fault),
                                                Field(&Damage::what, HasSubstr(planted.word)))))
          << testing::PrintToString(texts(report));
      restore();
    }
    EXPECT_THAT(texts(check()), IsEmpty());
  }

  static constexpr std::array<std::string_view, 12> tables{
      "meta",  "session",    "segment", "entry", "receipt", "call",
      "claim", "checkpoint", "blob",    "chunk", "pruned",  "message"};

  PostgresSchema schema;
  Named named = fill_sample(schema.location());
};

TEST_F(PostgresCheck, OfASoundStoreFindsNothingAndCountsEverything) {
  const CheckReport report = check();

  EXPECT_THAT(texts(report), IsEmpty());
  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.sessions, named.sessions.size());
  EXPECT_EQ(report.commits, named.receipts.size());
  EXPECT_EQ(report.blobs, named.blobs.size());
  EXPECT_EQ(report.calls, named.keys.size());
  EXPECT_GT(report.entries, 100U);
  EXPECT_GT(report.bytes, 100'000U);
}

TEST_F(PostgresCheck, ToldToStopSaysThatItIsNotComplete) {
  int calls = 0;
  const auto report = must(open_store(schema.location()))->upkeep().check([&](const Step& step) {
    EXPECT_LE(step.done, step.total);
    return ++calls < 3;
  });

  ASSERT_TRUE(report);
  EXPECT_EQ(calls, 3);
  EXPECT_FALSE(report->is_complete);
}

TEST_F(PostgresCheck, FindsWhatIsWrongWithTheLog) {
  expect_all({
      {"UPDATE perdure.entry SET body = '{}' WHERE session = 1 AND position = 7", Fault::chain,
       "position 7 of session ses_long has a body that does not match its hash"},
      {"UPDATE perdure.entry SET kind = 'other' WHERE session = 1 AND position = 7", Fault::chain,
       "does not match the hash chain"},
      {"DELETE FROM perdure.entry WHERE session = 1 AND position IN (7, 8)", Fault::order,
       "position 7 of session ses_long is missing"},
      {"UPDATE perdure.entry SET segment = 2 WHERE session = 1 AND position = 7", Fault::order,
       "position 7 of session ses_long is missing"},
      {"INSERT INTO perdure.entry SELECT session, position + 1000, segment, channel, kind, fold, "
       "codec, at, turns, steps, tokens_in, tokens_out, cost_micros, hash, body, bytes "
       "FROM perdure.entry WHERE session = 1 AND position = 7",
       Fault::order, "segment 1 has"},
      {"DELETE FROM perdure.receipt WHERE session = 1 AND number = 5", Fault::chain,
       "the receipts of commits 5 to 5 are missing"},
      {"UPDATE perdure.receipt SET at = at + 1 WHERE session = 1 AND number = 2", Fault::chain,
       "commit 2"},
  });
}

// Nothing but a fork has them any more, and no receipt speaks of them.
TEST_F(PostgresCheck, FindsWhatIsWrongWithWhatForksShareOfARemovedSession) {
  {
    const auto store = must(open_store(schema.location()));
    const SessionId parent = must(SessionId::parse("ses_heirless"));
    const WorkerId worker = must(WorkerId::parse("worker"));
    must(store->sessions().create({.id = parent}));
    must(store->ownership().enroll({.id = worker}));
    const Lease lease = must(store->ownership().acquire(parent, worker));
    Batch batch{.id = must(BatchId::parse("b"))};
    for (int i = 0; i < 3; ++i) {
      batch.entries.push_back({.channel = "c", .kind = "k", .body = Body::from_text("\"text\"")});
    }
    must(store->commit(lease, batch));
    must(store->sessions().create({.id = must(SessionId::parse("ses_heir")),
                                   .origin = {{.session = parent, .at = Point::position(3)}}}));
    must(store->ownership().release(lease));
    must(store->upkeep().remove(parent));
  }
  save();
  const std::string shared =
      " WHERE position = 2 AND segment = (SELECT g.parent FROM perdure.segment g JOIN "
      "perdure.session s ON s.num = g.session WHERE s.id = 'ses_heir')";
  const std::string changed = "UPDATE perdure.entry SET body = '{}'" + shared;
  const std::string gone = "DELETE FROM perdure.entry" + shared;
  expect_all({
      {changed.c_str(), Fault::chain, "share, has a body that does not match its hash"},
      {gone.c_str(), Fault::order, "removed session share, is missing"},
  });
}

TEST_F(PostgresCheck, TakesWhatWasPrunedOrErasedForWhatItIs) {
  run("INSERT INTO perdure.pruned SELECT 1, 7, 9, count(*), sum(turns), sum(steps), "
      "sum(tokens_in), sum(tokens_out), sum(cost_micros) FROM perdure.entry "
      "WHERE session = 1 AND position IN (7, 8)");
  run("DELETE FROM perdure.entry WHERE session = 1 AND position IN (7, 8)");
  run("UPDATE perdure.entry SET body = NULL, bytes = NULL, codec = -1 - codec "
      "WHERE session = 1 AND position = 9");
  EXPECT_THAT(texts(check()), IsEmpty());

  run("UPDATE perdure.pruned SET turns = 999");
  EXPECT_THAT(texts(check()), Contains(HasSubstr("totals")));
}

// Not only a check tells: whoever reads the log does.
TEST_F(PostgresCheck, WhatIsMissingIsReadAsDamagedAndHidesNoNeighbour) {
  const SessionId id = must(SessionId::parse(cluster().one(postgres::in_schema(
      "SELECT id FROM perdure.session WHERE num = 1", postgres::quoted_name(schema.name())))));
  const auto read = [&](const LogQuery& query) {
    return must(must(open_store(schema.location()))->log().read(id, query));
  };
  const std::vector<Entry> whole = read({});
  ASSERT_GT(whole.size(), 4U);
  const std::size_t middle = whole.size() / 2;
  const std::string there =
      fmt::format(" WHERE session = 1 AND position = {}", whole[middle].position);
  for (const char* damage :
       {"UPDATE perdure.entry SET body = NULL, bytes = NULL",
        "UPDATE perdure.entry SET body = '', bytes = NULL", "DELETE FROM perdure.entry"}) {
    SCOPED_TRACE(damage);
    run(damage + there);
    for (const Order order : {Order::oldest_first, Order::newest_first}) {
      for (const std::size_t limit : {whole.size(), middle + 1, whole.size() - middle}) {
        std::vector<Entry> expected = whole;
        if (order == Order::newest_first) std::ranges::reverse(expected);
        expected.resize(limit);
        std::vector<Entry> found = read({.order = order, .limit = limit});
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          if (found[i].position == whole[middle].position) {
            EXPECT_EQ(found[i].condition, Condition::damaged);
          } else {
            EXPECT_EQ(found[i], expected[i]);
          }
        }
      }
    }
    const State state = must(read_state(*must(open_store(schema.location())), id, Point::head()));
    EXPECT_FALSE(state.details->skipped.empty());
    restore();
  }
  EXPECT_EQ(read({}), whole);
}

TEST_F(PostgresCheck, AMissingLastEntryIsDamageAndNoShorterSession) {
  const auto store = must(open_store(schema.location()));
  const SessionId id = must(SessionId::parse(cluster().one(postgres::in_schema(
      "SELECT id FROM perdure.session WHERE num = 1", postgres::quoted_name(schema.name())))));
  const Position head = must(store->sessions().read(id)).head;
  run(fmt::format("DELETE FROM perdure.entry WHERE session = 1 AND position = {}", head));

  const auto state = read_state(*store, id, Point::head());

  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::corrupted);
  EXPECT_NE(state.error().message.find(fmt::format("position {}", head)), std::string::npos);
  EXPECT_EQ(must(store->log().read(id, {})).back().condition, Condition::damaged);
}

TEST_F(PostgresCheck, FindsWhatTheLogDoesNotBearOut) {
  expect_all({
      {"UPDATE perdure.checkpoint SET position = position - 1 WHERE session = 1 AND version = 2",
       Fault::order, "version 2 names position"},
      {"UPDATE perdure.checkpoint SET cost_micros = 1 WHERE session = 1 AND version = 2",
       Fault::summary, "the totals of version 2"},
      {"INSERT INTO perdure.checkpoint SELECT session, 1000, segment, position, at, reason, label, "
       "metadata, 0, 0, 0, 0, 0 FROM perdure.checkpoint WHERE session = 1 AND version = 2",
       Fault::order, "versions, and its commits made"},
      {"UPDATE perdure.session SET tokens_in = tokens_in + 1 WHERE id = 'ses_fork'", Fault::summary,
       "the totals of the session"},
      {"UPDATE perdure.session SET head = head - 1 WHERE id = 'ses_fork'", Fault::summary,
       "the session's row says its head is"},
      {"UPDATE perdure.session SET attention = 0 WHERE id = 'ses_long'", Fault::summary,
       "calls in doubt is 0, and it is 1"},
      {"UPDATE perdure.session SET tags = 'x' WHERE id = 'ses_long'", Fault::summary,
       "its tags are not a list"},
      {"UPDATE perdure.message SET consumed = true WHERE NOT consumed", Fault::file,
       "of the inbox contradicts itself"},
  });
}

TEST_F(PostgresCheck, FindsWhatIsWrongWithCallsAndKeys) {
  expect_all({
      {"UPDATE perdure.call SET attempts = 0 WHERE state = 'succeeded'", Fault::ledger,
       "it is succeeded after 0 attempts"},
      {"UPDATE perdure.call SET args = 1000 WHERE state = 'succeeded'", Fault::reference,
       "has its arguments at position 1000, where no entry is"},
      {"UPDATE perdure.call SET args = position + 1 WHERE state = 'succeeded'", Fault::reference,
       "has its arguments at position"},
      {"UPDATE perdure.call SET result = 1000 WHERE state = 'succeeded'", Fault::reference,
       "has its result at position 1000, where no entry is"},
      {"UPDATE perdure.call SET position = 1000 WHERE state = 'intended'", Fault::ledger,
       "calls, and its commits made"},
      {"UPDATE perdure.call SET key = (SELECT key FROM perdure.call WHERE state = 'succeeded') "
       "WHERE state = 'in_doubt'",
       Fault::ledger, "is held by more than one call"},
      {"DELETE FROM perdure.claim", Fault::ledger, "is held by a call, and not claimed"},
      {"UPDATE perdure.claim SET position = position + 1", Fault::ledger,
       "is claimed for a call that does not hold it"},
  });
}

TEST_F(PostgresCheck, FindsWhatIsNotThere) {
  expect_all({
      {"DELETE FROM perdure.blob WHERE size = 50", Fault::reference,
       "names a blob that is not there"},
      {"DELETE FROM perdure.blob WHERE size = 50", Fault::reference, "there are chunks of blob"},
      {"UPDATE perdure.chunk SET bytes = '\\x00' WHERE length(bytes) = 50", Fault::chain,
       "does not match its name"},
      {"DELETE FROM perdure.chunk WHERE length(bytes) = 50", Fault::chain,
       "does not match its name"},
      {"DELETE FROM perdure.segment WHERE num = 1", Fault::reference, "segment 1, which"},
      {"DELETE FROM perdure.session WHERE id = 'ses_small_3'", Fault::reference,
       "in table receipt, and no such session"},
      {"DELETE FROM perdure.session WHERE id = 'ses_small_3'", Fault::reference,
       "belongs to no session, and no fork shares it"},
      {"DELETE FROM perdure.meta WHERE key = 'incarnation'", Fault::summary,
       "the store's incarnation is missing"},
  });
  run("SELECT setval('perdure.segment_num', 3)");
  EXPECT_THAT(texts(check()), Contains(HasSubstr("the counter of segments is")));
}

// A line that leads round in a circle has no end.
TEST_F(PostgresCheck, ComesToAnEndWhereALineDoesNot) {
  run("UPDATE perdure.segment SET parent = num WHERE num = 2");

  EXPECT_THAT(texts(check()), Contains(HasSubstr("is older than its parent")));
}

TEST_F(PostgresCheck, NamesWhatTheServerCannotReadAndGoesOn) {
  run("CREATE OR REPLACE FUNCTION perdure.count_tally(p_segment bigint, p_position bigint) RETURNS "
      "TABLE (is_whole boolean, turns bigint, steps bigint, tokens_in bigint, tokens_out bigint, "
      "cost_micros bigint) LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'XX001', "
      "MESSAGE = 'invalid page in block 7'; END $$");
  run("UPDATE perdure.session SET title = 'x', tags = 'x' WHERE id = 'ses_small_9'");

  const auto found = texts(check());

  EXPECT_THAT(found, Contains(HasSubstr("cannot be read: invalid page in block 7")));
  EXPECT_THAT(found, Contains(HasSubstr("its tags are not a list")));
}

}  // namespace
}  // namespace perdure
