// A server restored from a base backup and its archived log, or a database from a dump, knows that
// it is not the one it was: what the original did since is unknown here. A server that was only
// restarted, or promoted, goes on as the same.

#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/postgres_archive.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_pair.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/postgres_server.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

constexpr const char* then = "recovery_target_name = 'then'";

std::string incarnation(Store& store) { return store.info().incarnation; }

SessionId named(const std::string& name) { return SessionId::parse(name).value(); }

// One session in the middle of a call, one that waits for something, one that has ended.
Lease begin_three(Store& store) {
  const Lease lease = own_session(store, "unfinished");
  must(store.commit(lease, turn_batch(lease.session, 1)));
  must(store.sessions().create({.id = named("waiting"), .status = Status::waiting}));
  must(store.sessions().create({.id = named("ended"), .status = Status::completed}));
  return lease;
}

// Whoever wrote before must not go on, and nobody goes on by itself.
void expect_to_be_new(Store& store, const Lease& of_the_original, Version turns) {
  const auto row = must(store.sessions().read(of_the_original.session));
  EXPECT_EQ(row.status, Status::paused);
  EXPECT_TRUE(row.needs_attention());
  EXPECT_FALSE(row.holder.has_value());
  const auto waiting = must(store.sessions().read(named("waiting")));
  EXPECT_EQ(waiting.status, Status::paused);
  EXPECT_TRUE(waiting.needs_attention());
  EXPECT_EQ(must(store.sessions().read(named("ended"))).status, Status::completed);
  EXPECT_THAT(must(store.sessions().due(10)), testing::IsEmpty());
  EXPECT_EQ(find_wrong_turn(store, of_the_original.session, turns), "");

  const auto late = store.commit(of_the_original, turn_batch(of_the_original.session, turns + 1));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::lease_lost);
  const auto worker = WorkerId::parse("another").value();
  must(store.ownership().enroll({.id = worker, .host = "here", .pid = 2}));
  const Lease lease = must(store.ownership().acquire(of_the_original.session, worker));
  EXPECT_GT(lease.fence, of_the_original.fence + 1'000'000);
}

TEST(Restore, ToAPointInTimeMakesANewIncarnation) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const std::string original = incarnation(*store);
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  must(store->commit(lease, turn_batch(lease.session, 2)));
  archive.name_moment("then");
  must(store->commit(lease, turn_batch(lease.session, 3)));

  archive.restore(*backup, then);

  const auto restored = must(open_store(backup->address()));
  const std::string anew = incarnation(*restored);
  EXPECT_NE(anew, original);
  expect_to_be_new(*restored, lease, 2);
  EXPECT_EQ(incarnation(*must(open_store(backup->address()))), anew) << "recognised twice";
  // And the original goes on.
  must(store->commit(lease, turn_batch(lease.session, 4)));
  EXPECT_EQ(incarnation(*must(open_store(archive.server().address()))), original);
}

TEST(Restore, ToATimeMakesANewIncarnation) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  must(store->commit(lease, turn_batch(lease.session, 2)));
  const std::string time = PostgresSql(archive.server().address()).one("SELECT clock_timestamp()");
  must(store->commit(lease, turn_batch(lease.session, 3)));
  archive.name_moment("later");

  archive.restore(*backup, fmt::format("recovery_target_time = '{}'", time));

  const auto restored = must(open_store(backup->address()));
  EXPECT_NE(incarnation(*restored), incarnation(*store));
  expect_to_be_new(*restored, lease, 2);
}

TEST(Restore, ToTheEndOfTheArchiveMakesANewIncarnation) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  must(store->commit(lease, turn_batch(lease.session, 2)));
  archive.name_moment("the last one that is archived");
  must(store->commit(lease, turn_batch(lease.session, 3)));

  archive.restore(*backup);

  const auto restored = must(open_store(backup->address()));
  EXPECT_NE(incarnation(*restored), incarnation(*store));
  expect_to_be_new(*restored, lease, 2);
}

TEST(Restore, IsRecognisedWhenItsTargetIsNoLongerSet) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  archive.name_moment("then");
  archive.restore(*backup, then);

  PostgresSql(backup->address()).execute("ALTER SYSTEM RESET ALL");
  backup->stop(PostgresServer::Stop::fast);
  backup->start();

  const auto restored = must(open_store(backup->address()));
  EXPECT_NE(incarnation(*restored), incarnation(*store));
  expect_to_be_new(*restored, lease, 1);
}

// It streamed like any standby, but not to the end.
TEST(Restore, OfAStandbyThatWasToldWhereToStopMakesANewIncarnation) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  archive.name_moment("then");
  must(store->commit(lease, turn_batch(lease.session, 2)));

  std::ofstream(backup->data_folder() + "/standby.signal").flush();
  archive.restore(*backup, fmt::format("{}\nrestore_command = ''\n"
                                       "primary_conninfo = 'host=127.0.0.1 port={} user=perdure'",
                                       then, archive.server().port()));

  ASSERT_NE(PostgresSql(backup->address()).one("SELECT pg_last_wal_receive_lsn()"), "");
  const auto restored = must(open_store(backup->address()));
  EXPECT_NE(incarnation(*restored), incarnation(*store));
  expect_to_be_new(*restored, lease, 1);
}

TEST(Restore, BehindTheBackOfAStoreThatIsOpenIsNoticed) {
  PostgresArchive archive;
  PgProxy proxy(static_cast<std::uint16_t>(archive.server().port()));
  const auto store =
      must(open_store(fmt::format("postgres://perdure@127.0.0.1:{}/postgres", proxy.port())));
  const Lease lease = begin_three(*store);
  const auto backup = archive.take_base_backup();
  archive.name_moment("then");
  must(store->commit(lease, turn_batch(lease.session, 2)));
  archive.restore(*backup, then);

  proxy.turn_to(static_cast<std::uint16_t>(backup->port()));
  proxy.cut_all();
  const auto receipt = store->commit(lease, turn_batch(lease.session, 3));

  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::lease_lost) << receipt.error().message;
  expect_to_be_new(*store, lease, 1);
}

// Dumps the store of a server, lets it go on, and restores the dump at `to`.
void dump_and_restore(PostgresServer& server, Store& store, const Lease& lease,
                      const std::string& to) {
  const std::string file = server.folder() + "/dump";
  run_postgres_program("pg_dump",
                       {"--format=custom", "--schema=perdure", "--file=" + file, server.address()},
                       server.folder() + "/dump.log");
  must(store.commit(lease, turn_batch(lease.session, 2)));
  if (to == server.address()) PostgresSql(to).execute("DROP SCHEMA perdure CASCADE");
  run_postgres_program("pg_restore", {"--dbname=" + to, file}, server.folder() + "/restore.log");
}

TEST(Restore, OfADumpIntoAnotherClusterMakesANewIncarnation) {
  PostgresServer first;
  PostgresServer second;
  first.start();
  second.start();
  const auto store = must(open_store(first.address()));
  const Lease lease = begin_three(*store);

  dump_and_restore(first, *store, lease, second.address());

  const auto restored = must(open_store(second.address()));
  EXPECT_NE(incarnation(*restored), incarnation(*store));
  expect_to_be_new(*restored, lease, 1);
}

TEST(Restore, OfADumpIntoAnotherDatabaseMakesANewIncarnation) {
  PostgresServer server;
  server.start();
  const auto store = must(open_store(server.address()));
  const Lease lease = begin_three(*store);
  PostgresSql(server.address()).execute("CREATE DATABASE copy");
  const std::string copy = server.address().substr(0, server.address().rfind('/')) + "/copy";

  dump_and_restore(server, *store, lease, copy);

  const auto restored = must(open_store(copy));
  const std::string anew = incarnation(*restored);
  EXPECT_NE(anew, incarnation(*store));
  expect_to_be_new(*restored, lease, 1);
  EXPECT_EQ(incarnation(*must(open_store(copy))), anew) << "recognised twice";
}

TEST(Restore, OfADumpInThePlaceOfTheOriginalMakesANewIncarnation) {
  PostgresServer server;
  server.start();
  auto store = must(open_store(server.address()));
  const std::string original = incarnation(*store);
  const Lease lease = begin_three(*store);

  dump_and_restore(server, *store, lease, server.address());

  const auto restored = must(open_store(server.address()));
  EXPECT_NE(incarnation(*restored), original);
  expect_to_be_new(*restored, lease, 1);
}

TEST(Restore, ThatSomebodySaysByHandIsOne) {
  PostgresArchive archive;
  auto store = must(open_store(archive.server().address()));
  const Lease lease = begin_three(*store);
  for (const char* kind : {"approve", "message"}) {
    must(store->inbox().post({.session = lease.session,
                              .id = must(MessageId::parse(kind)),
                              .kind = kind,
                              .body = Body::from_text("{}")}));
  }
  const auto backup = archive.take_base_backup();
  archive.name_moment("then");
  archive.restore(*backup, then);

  PostgresSql sql(backup->address());
  sql.execute("SELECT perdure.begin_anew('of Monday')");
  const std::string anew = sql.one("SELECT value FROM perdure.meta WHERE key = 'incarnation'");

  const auto restored = must(open_store(backup->address()));
  EXPECT_EQ(incarnation(*restored), anew) << "recognised again";
  EXPECT_EQ(must(restored->sessions().read(lease.session)).wait_reason, "of Monday");
  const auto waiting = must(restored->inbox().list(lease.session, 2));
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting.at(0).kind, "void_approve") << "the old server may have acted on it";
  EXPECT_EQ(waiting.at(1).kind, "message");
  expect_to_be_new(*restored, lease, 1);
}

TEST(Restore, ARestartIsNone) {
  PostgresServer server;
  server.start();
  const std::string before = incarnation(*must(open_store(server.address())));
  server.stop(PostgresServer::Stop::killed);
  server.start();

  EXPECT_EQ(incarnation(*must(open_store(server.address()))), before);
}

TEST(Restore, APromotionIsNone) {
  PostgresPair pair;
  auto store = must(open_store(pair.address()));
  const std::string before = incarnation(*store);
  const Lease lease = begin_three(*store);

  pair.kill_primary();
  pair.promote();

  EXPECT_TRUE(store->commit(lease, turn_batch(lease.session, 2)).has_value());
  EXPECT_EQ(incarnation(*must(open_store(pair.address()))), before);
}

// What it streamed is forgotten with the restart, and it looks like a restored one: rather pause
// than go on from a state that may be old.
TEST(Restore, APromotionThatNoStoreSawBeforeARestartIsTakenForOne) {
  PostgresPair pair;
  auto store = must(open_store(pair.address()));
  const std::string before = incarnation(*store);
  const Lease lease = begin_three(*store);
  store.reset();
  pair.kill_primary();
  pair.promote();

  pair.standby().stop(PostgresServer::Stop::fast);
  pair.standby().start();

  const auto found = must(open_store(pair.address()));
  EXPECT_NE(incarnation(*found), before);
  EXPECT_EQ(must(found->sessions().read(lease.session)).status, Status::paused);
}

// As pg_upgrade leaves it: all oids are the same.
TEST(Restore, IntoAnotherClusterIsOneEvenIfNothingElseDiffers) {
  const PostgresSchema schema;
  const std::string before = incarnation(*must(open_store(schema.location())));
  cluster().execute(fmt::format(
      "UPDATE {}.meta SET value = '1' || substr(value, strpos(value, ':')) WHERE key = 'server'",
      schema.name()));

  EXPECT_NE(incarnation(*must(open_store(schema.location()))), before);
}

// Earlier versions remembered the cluster and its timeline only.
TEST(Restore, AStoreThatNeverNotedItsTablesIsNone) {
  const PostgresSchema schema;
  const std::string before = incarnation(*must(open_store(schema.location())));
  cluster().execute(fmt::format(
      "UPDATE {}.meta SET value = concat_ws(':', split_part(value, ':', 1), split_part(value, ':', "
      "2)) WHERE key = 'server'",
      schema.name()));

  EXPECT_EQ(incarnation(*must(open_store(schema.location()))), before);
}

}  // namespace
}  // namespace perdure
