// No table is read from its beginning to its end by what agents do all the time. The server's own
// counts tell, in a store with enough rows that it would matter: as it is made by default, and with its
// large tables in partitions.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

// A session like those there are, and thousands of copies of its rows under other numbers. Nearly all
// of them are over.
void fill(const PostgresSchema& place, const std::string& options) {
  const std::string& schema = place.name();
  const auto store = must(open_store(place.location("notify=off&" + options)));
  const Lease lease = own_session(*store, "model");
  for (Version turn = 1; turn <= 3; ++turn) {
    must(store->commit(lease, turn_batch(lease.session, turn)));
  }
  must(store->inbox().post({.session = lease.session,
                            .id = MessageId::parse("m").value(),
                            .kind = "user",
                            .body = Body::from_text("{}")}));
  must(store->blobs().put("a blob"));
  must(store->lookup().acquire_resource("resource", lease.worker));
  PostgresSql sql(cluster().address());  // Its own counts are told when it ends.
  const auto copy = [&](const std::string& table, const std::string& changes) {
    sql.execute(fmt::format(
        "INSERT INTO {0}.{1} SELECT (jsonb_populate_record(t, jsonb_build_object({2}))).* "
        "FROM {0}.{1} t, generate_series(1, 3000) i",
        schema, table, changes));
  };
  copy("session",
       "'num', 1000000 + i, 'id', 'copy ' || i, 'owner', 1000000 + i, "
       "'status', CASE WHEN i % 300 = 0 THEN 'active' ELSE 'completed' END");
  for (const char* const table : {"entry", "receipt", "checkpoint", "call", "message"}) {
    copy(table, "'session', 1000000 + i");
  }
  copy("segment", "'num', 1000000 + i, 'session', 1000000 + i");
  copy("worker", "'num', 1000000 + i, 'id', 'copy ' || i");
  copy("claim", "'key', sha256(int8send(i) || key)");
  copy("blob", "'hash', sha256(int8send(i))");
  copy("chunk", "'hash', sha256(int8send(i))");
  copy("resource", "'name', 'copy ' || i");
  sql.execute(fmt::format("INSERT INTO {0}.arriving SELECT * FROM {0}.session", schema));
  sql.execute("INSERT INTO " + schema +
              ".pruned SELECT 1000000 + i, 1, 1, 1, 0, 0, 0, 0, 0 FROM generate_series(1, 3000) i");
  sql.execute(fmt::format(
      "DO $$ DECLARE t record; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relkind IN "
      "('r', 'p') AND relnamespace = to_regnamespace('{0}') LOOP EXECUTE format('ANALYZE {0}.%I', "
      "t.relname); END LOOP; END $$",
      schema));
}

struct Layout {
  std::string name;
  std::string options;
};

void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

class Plans : public testing::TestWithParam<Layout> {
 protected:
  /// Does something for the n-th time.
  using Work = std::function<void(Store& store, const Lease& lease, int n)>;

  void SetUp() override {
    auto& place = filled_[GetParam().name];
    if (!place) {
      place = std::make_unique<PostgresSchema>();
      fill(*place, GetParam().options);
    }
    schema = place.get();
  }
  static void TearDownTestSuite() { filled_.clear(); }

  /// The tables that the work reads from one end to the other. Done often enough for the server to
  /// settle for one plan.
  std::string scanned_by(const Work& work) {
    const auto store =
        must(open_store(schema->location("notify=off&application_name=" + schema->name())));
    static int run = 0;
    const Lease lease = own_session(*store, fmt::format("session {}", ++run));
    must(store->commit(lease, turn_batch(lease.session, 1)));
    const auto before = scans();
    for (int n = 1; n <= 12; ++n) work(*store, lease, n);
    std::string scanned;
    for (const auto& [table, count] : scans()) {
      // `meta` has a few rows for ever; a new connection looks at one of them.
      if (count > before.at(table) && table != "meta") scanned += table + " ";
    }
    return scanned;
  }

  const PostgresSchema* schema = nullptr;

 private:
  static std::map<std::string, std::unique_ptr<PostgresSchema>> filled_;

  // A connection tells what it counted when it ends. The store just makes another. A partition
  // counts as its table.
  [[nodiscard]] std::map<std::string, std::uint64_t> scans() const {
    const std::string processes = cluster().one(
        fmt::format("SELECT '{{' || coalesce(string_agg(pid::text, ','), '') || '}}' FROM "
                    "pg_stat_activity WHERE application_name = '{}'",
                    schema->name()));
    const std::string from =
        fmt::format(" FROM pg_stat_activity WHERE pid = ANY ('{}'::int[])", processes);
    cluster().execute("SELECT pg_terminate_backend(pid)" + from);
    wait_for_answer(cluster().address(), "SELECT count(*)" + from, "0");
    std::map<std::string, std::uint64_t> counts;
    const std::string all = cluster().one(
        fmt::format("SELECT string_agg(name || '=' || scans, ' ') || ' ' FROM (SELECT "
                    "regexp_replace(relname, '_[0-9]+$', '') AS name, sum(seq_scan) "
                    "AS scans FROM pg_stat_user_tables WHERE schemaname = '{}' GROUP BY 1) t",
                    schema->name()));
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t equals = all.find('=', at);
      const std::size_t end = all.find(' ', equals);
      counts[all.substr(at, equals - at)] = std::stoull(all.substr(equals + 1, end - equals - 1));
      at = end + 1;
    }
    return counts;
  }
};

std::map<std::string, std::unique_ptr<PostgresSchema>> Plans::filled_;

INSTANTIATE_TEST_SUITE_P(Every, Plans,
                         testing::Values(Layout{"plain", ""},
                                         Layout{"partitioned", "partitions=4"}),
                         [](const auto& tested) { return tested.param.name; });

// Or none of the others would mean anything.
TEST_P(Plans, AScanIsNoticed) {
  EXPECT_EQ(scanned_by([this](Store&, const Lease&, int) {
              PostgresSql sql(cluster().address());
              sql.execute("SET application_name = '" + schema->name() + "'; SELECT count(*) FROM " +
                          schema->name() + ".entry WHERE kind = 'no such'");
            }),
            "entry ");
}

TEST_P(Plans, ACommitAndItsRepetitionScanNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int n) {
              const Batch batch = turn_batch(lease.session, static_cast<Version>(n) + 1);
              must(store.commit(lease, batch));
              must(store.commit(lease, batch));
            }),
            "");
}

// Of so many at once, most share a statement.
TEST_P(Plans, ManyCommitsAtOnceScanNothing) {
  const auto other = must(open_store(schema->location("notify=off")));
  std::vector<Lease> leases;
  leases.reserve(24);
  for (int i = 0; i < 24; ++i) leases.push_back(own_session(*other, fmt::format("one of {}", i)));
  EXPECT_EQ(scanned_by([&](Store& store, const Lease&, int n) {
              std::vector<std::jthread> threads;
              threads.reserve(leases.size());
              for (const Lease& one : leases) {
                threads.emplace_back([&store, &one, n] {
                  must(store.commit(one, {.id = BatchId::parse(fmt::format("b{}", n)).value(),
                                          .expected_head = static_cast<Position>(n) - 1,
                                          .entries = {{.channel = "transcript", .kind = "k"}}}));
                });
              }
            }),
            "");
}

TEST_P(Plans, ACommitThatBranchesSpawnsAndConsumesScansNothing) {
  EXPECT_EQ(
      scanned_by([](Store& store, const Lease& lease, int n) {
        const auto message = MessageId::parse(fmt::format("m{}", n)).value();
        must(store.inbox().post({.session = lease.session,
                                 .id = message,
                                 .kind = "user",
                                 .body = Body::from_text("{}")}));
        const auto row = must(store.sessions().read(lease.session));
        must(store.commit(
            lease,
            {.id = BatchId::parse(fmt::format("branch {}", n)).value(),
             .expected_head = row.head,
             .branch_from = Point::version(1),
             .entries = {{.channel = "transcript", .kind = "k", .body = Body::from_text("{}")}},
             .checkpoint = NewCheckpoint{.label = fmt::format("l{}", n)},
             .status = StatusChange{},
             .consumed = {message},
             .children = {
                 {.id = SessionId::parse(lease.session.text() + fmt::format(".{}", n)).value(),
                  .origin = NewSession::Origin{.session = lease.session,
                                               .at = Point::head(),
                                               .lineage = Lineage::child}}}}));
      }),
      "");
}

TEST_P(Plans, OwnershipScansNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int n) {
              must(store.ownership().renew(lease.worker));
              must(store.ownership().release(lease));
              must(store.ownership().acquire(lease.session, lease.worker));
              const auto resource = must(store.lookup().acquire_resource(
                  fmt::format("{} {}", lease.session.text(), n), lease.worker));
              must(store.lookup().find_resource(resource.name));
            }),
            "");
}

// Of a line with two parts.
TEST_P(Plans, ReadingALogScansNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int n) {
              if (n == 1) {
                must(store.commit(lease, {.id = BatchId::parse("branch").value(),
                                          .expected_head = turn_entries,
                                          .branch_from = Point::version(1),
                                          .entries = {{.channel = "transcript", .kind = "k"}}}));
              }
              must(store.log().read(lease.session, {}));
              must(store.log().read(lease.session, {.as_of = Point::version(1)}));
              must(store.log().find_value(lease.session, "plan", Point::head()));
              must(store.log().read_checkpoint(lease.session, 1));
              must(store.log().checkpoints(lease.session, {}));
              must(store.lookup().line(lease.session, Point::head()));
              must(store.lookup().find_receipt(lease.session, turn_batch(lease.session, 1).id));
            }),
            "");
}

TEST_P(Plans, TheLedgerScansNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int) {
              must(store.ledger().read(lease.session, 1));
              must(store.ledger().list({.session = lease.session}));
              const Digest key = sha256(turn_batch(lease.session, 1).id.text());
              must(store.ledger().find_holder(key));
              must(store.lookup().by_key(key));
            }),
            "");
}

TEST_P(Plans, APageOfOpenCallsScansNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int) {
              must(store.ledger().list({.states = {CallState::in_doubt, CallState::intended},
                                        .after = CallId{lease.session, 1},
                                        .limit = 10}));
            }),
            "");
}

TEST_P(Plans, AnIdIsFoundByItsPrefixWithoutAScan) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int) {
              const std::string& id = lease.session.text();
              must(store.sessions().list({.id_prefix = id.substr(0, id.size() - 1), .limit = 10}));
            }),
            "");
}

// A worker's start clears away the ended ones, which are few: nobody looks for them by an index.
TEST_P(Plans, EnrollingScansNothingButTheWorkers) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int n) {
              must(store.ownership().enroll(
                  {.id = WorkerId::parse(fmt::format("{} {}", lease.session.text(), n)).value(),
                   .host = "host",
                   .pid = 1}));
            }),
            "worker ");
}

// Among many that are over.
TEST_P(Plans, WhatIsDueIsFoundWithoutAScan) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease&, int) { must(store.sessions().due(10)); }),
            "");
}

TEST_P(Plans, SessionsInboxAndBlobsScanNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease& lease, int n) {
              must(store.sessions().read(lease.session));
              must(store.sessions().annotate(lease.session, {.title = fmt::format("t{}", n)}));
              must(store.inbox().list(lease.session, 10));
              const BlobRef ref = must(store.blobs().put(fmt::format("blob {}", n)));
              must(store.blobs().get(ref));
              must(store.blobs().read(ref, 1, 2));
              must(has_blob(store.blobs(), ref));
            }),
            "");
}

TEST_P(Plans, LookingForChangesScansNothing) {
  EXPECT_EQ(scanned_by([](Store& store, const Lease&, int) { must(store.change_number()); }), "");
}

}  // namespace
}  // namespace perdure
