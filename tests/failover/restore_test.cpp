// A server restored from a base backup and its archived log, or a database from a dump, knows that
// it is not the one it was: what the original did since is unknown here. A server that was only
// restarted, or promoted, goes on as the same.

#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/postgres_archive.hpp"
#include "doubles/postgres_pair.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/postgres_server.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/open.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

std::string incarnation(Store& store) { return store.upkeep().info().incarnation; }

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

  archive.restore(*backup, "then");

  const auto restored = must(open_store(backup->address()));
  const std::string anew = incarnation(*restored);
  EXPECT_NE(anew, original);
  expect_to_be_new(*restored, lease, 2);
  EXPECT_EQ(incarnation(*must(open_store(backup->address()))), anew) << "recognised twice";
  // And the original goes on.
  must(store->commit(lease, turn_batch(lease.session, 4)));
  EXPECT_EQ(incarnation(*must(open_store(archive.server().address()))), original);
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
  archive.restore(*backup, "then");

  proxy.turn_to(static_cast<std::uint16_t>(backup->port()));
  proxy.cut_all();
  const auto receipt = store->commit(lease, turn_batch(lease.session, 3));

  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::lease_lost) << receipt.error().message;
  expect_to_be_new(*store, lease, 1);
}

TEST(Restore, OfADumpMakesANewIncarnation) {
  PostgresServer first;
  PostgresServer second;
  first.start();
  second.start();
  const auto store = must(open_store(first.address()));
  const Lease lease = begin_three(*store);
  const std::string file = first.folder() + "/dump";
  run_postgres_program("pg_dump", {"--format=custom", "--file=" + file, first.address()},
                       first.folder() + "/dump.log");
  must(store->commit(lease, turn_batch(lease.session, 2)));
  run_postgres_program("pg_restore", {"--dbname=" + second.address(), file},
                       first.folder() + "/restore.log");

  const auto restored = must(open_store(second.address()));

  EXPECT_NE(incarnation(*restored), incarnation(*store));
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

}  // namespace
}  // namespace perdure
