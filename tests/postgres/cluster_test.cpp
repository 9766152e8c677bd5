// The server that tests share: that it is a real one, and that it never outlives those it is
// kept for.

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>

#include "crash/child_process.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_note.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/process_watch.hpp"

namespace perdure {
namespace {

std::string number(pid_t process) { return std::to_string(process); }

/// A keeper of a server, and that server's process.
struct Kept {
  explicit Kept(pid_t watched) : keeper("postgres_cluster", {"--watch", number(watched)}) {
    const auto line = keeper.read_line();
    if (!line) throw std::runtime_error("no server came up");
    address = *line;
    PostgresSql sql(address);
    server = std::stoi(sql.one("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"));
    folder = sql.one("SHOW data_directory");
    descriptor = watch_process(server);
  }
  ~Kept() {
    keeper.kill();
    keeper.wait();
    [[maybe_unused]] const bool ended = server_ends();
    close(descriptor);
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(folder).parent_path(), ignored);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  [[nodiscard]] bool server_ends() const {
    pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&wanted, 1, 60'000) == 1;
  }

  ChildProcess keeper;
  std::string address;
  std::string folder;
  pid_t server = -1;
  int descriptor = -1;
};

TEST(PostgresClusterTest, WritesAreSynced) {
  EXPECT_EQ(cluster().one("SHOW fsync"), "on");
  EXPECT_EQ(cluster().one("SHOW synchronous_commit"), "on");
  EXPECT_EQ(cluster().one("SHOW full_page_writes"), "on");
}

TEST(PostgresClusterTest, ListensOnTheLoopbackOnly) {
  EXPECT_EQ(cluster().one("SHOW listen_addresses"), "127.0.0.1");
}

TEST(PostgresClusterTest, TextIsUtf8AndSortsByBytes) {
  EXPECT_EQ(cluster().one("SHOW server_encoding"), "UTF8");
  EXPECT_EQ(cluster().one("SELECT 'B' < 'a'"), "t");
}

TEST(PostgresClusterTest, ASchemaGoesWithItsObject) {
  std::string name;
  {
    const PostgresSchema schema;
    name = schema.name();
    EXPECT_FALSE(schema.exists());
    cluster().execute("CREATE SCHEMA " + name + "; CREATE TABLE " + name + ".t (n bigint)");
    EXPECT_TRUE(schema.exists());
  }
  EXPECT_EQ(cluster().one("SELECT count(*) FROM pg_namespace WHERE nspname = '" + name + "'"), "0");
}

TEST(PostgresClusterTest, SchemasHaveDifferentNames) {
  const PostgresSchema first;
  const PostgresSchema second;

  EXPECT_NE(first.name(), second.name());
}

TEST(PostgresClusterTest, EndsWithTheProcessItIsKeptFor) {
  // Any process will do, and this program is at hand.
  ChildProcess watched("postgres_cluster", {"--watch", number(getpid())});
  ASSERT_TRUE(watched.read_line().has_value());
  Kept kept(watched.pid());

  watched.kill();

  EXPECT_TRUE(kept.server_ends());
  EXPECT_TRUE(kept.keeper.wait().is_clean());
  EXPECT_FALSE(std::filesystem::exists(kept.folder));
}

TEST(PostgresClusterTest, EndsWithItsKeeper) {
  const Kept kept(getpid());

  kept.keeper.kill();

  EXPECT_TRUE(kept.server_ends());
}

TEST(PostgresClusterTest, AnAskedKeeperTidiesUp) {
  Kept kept(getpid());

  kill(kept.keeper.pid(), SIGTERM);

  EXPECT_TRUE(kept.keeper.wait().is_clean());
  EXPECT_FALSE(std::filesystem::exists(kept.folder));
}

TEST(PostgresNoteTest, LeadsToTheServerOfTheNearestAncestor) {
  const Kept kept(getpid());

  EXPECT_EQ(PostgresNote::find(), kept.address);
}

TEST(PostgresNoteTest, AKilledKeepersNoteIsNotBelieved) {
  Kept kept(getpid());
  kept.keeper.kill();
  kept.keeper.wait();

  EXPECT_NE(PostgresNote::find(), kept.address);
}

TEST(PostgresNoteTest, TheNextKeeperTidiesUpAfterAKilledOne) {
  Kept killed(getpid());
  killed.keeper.kill();
  killed.keeper.wait();
  ASSERT_TRUE(killed.server_ends());

  const Kept next(getpid());

  EXPECT_FALSE(std::filesystem::exists(killed.folder));
}

TEST(PostgresServerTest, CommitsSurviveAKilledServer) {
  PostgresServer server;
  server.start();
  PostgresSql(server.address()).execute("CREATE TABLE t AS SELECT 17 AS n");

  server.stop(PostgresServer::Stop::killed);
  server.start();

  EXPECT_EQ(PostgresSql(server.address()).one("SELECT n FROM t"), "17");
}

TEST(PostgresServerTest, TakesSettings) {
  PostgresServer server({"max_connections=20"});
  server.start();

  EXPECT_EQ(PostgresSql(server.address()).one("SHOW max_connections"), "20");
}

}  // namespace
}  // namespace perdure
