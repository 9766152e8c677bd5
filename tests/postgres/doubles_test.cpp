// The other doubles for PostgreSQL: that the pooler pools, that the standby has what was
// acknowledged, and that a restored server is where it should be.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "doubles/pgbouncer.hpp"
#include "doubles/postgres_archive.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_pair.hpp"

namespace perdure {
namespace {

TEST(PgBouncerTest, GivesAConnectionToATransactionNotToAClient) {
  const PgBouncer bouncer(std::stoi(cluster().one("SHOW port")), 1);
  PostgresSql first(bouncer.address());
  PostgresSql second(bouncer.address());

  EXPECT_EQ(first.one("SELECT pg_backend_pid()"), second.one("SELECT pg_backend_pid()"));
}

TEST(PostgresPairTest, WhatIsAcknowledgedSurvivesThePrimary) {
  PostgresPair pair;
  {
    PostgresSql primary(pair.address());
    EXPECT_EQ(primary.one("SHOW port"), std::to_string(pair.primary().port()));
    primary.execute("CREATE TABLE t AS SELECT 17 AS n");
  }

  pair.kill_primary();
  pair.promote();

  PostgresSql survivor(pair.address());
  EXPECT_EQ(survivor.one("SHOW port"), std::to_string(pair.standby().port()));
  EXPECT_EQ(survivor.one("SELECT n FROM t"), "17");
  survivor.execute("INSERT INTO t VALUES (18)");
}

TEST(PostgresArchiveTest, ARestoredServerIsAsItWasAtTheMoment) {
  PostgresArchive archive;
  PostgresSql sql(archive.server().address());
  sql.execute("CREATE TABLE t (n bigint)");
  const auto backup = archive.take_base_backup();
  sql.execute("INSERT INTO t VALUES (1)");
  archive.name_moment("then");
  sql.execute("INSERT INTO t VALUES (2)");

  archive.restore(*backup, "recovery_target_name = 'then'");

  PostgresSql restored(backup->address());
  EXPECT_EQ(restored.one("SELECT string_agg(n::text, ',') FROM t"), "1");
  restored.execute("INSERT INTO t VALUES (3)");
  EXPECT_EQ(sql.one("SELECT string_agg(n::text, ',' ORDER BY n) FROM t"), "1,2");
}

}  // namespace
}  // namespace perdure
