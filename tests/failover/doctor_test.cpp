// What `doctor` says of a server's replication: whether a fail-over would lose what was
// acknowledged.

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_pair.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Remark about_replication(Store& store) {
  const auto remarks = must(store.doctor());
  const auto found = std::ranges::find(remarks, "replication", &Remark::topic);
  return found == remarks.end() ? Remark{} : *found;
}

Remark about_replication(const std::string& location) {
  return about_replication(*must(open_store(location)));
}

TEST(Doctor, WarnsOfAServerThatIsAlone) {
  const PostgresSchema schema;

  const Remark remark = about_replication(schema.location());

  EXPECT_EQ(remark.gravity, Gravity::warning);
  EXPECT_THAT(remark.what, HasSubstr("no standby"));
  EXPECT_THAT(remark.advice, Not(IsEmpty()));
}

class DoctorOfAPair : public testing::Test {
 protected:
  DoctorOfAPair() { (void)must(open_store(pair.address())); }

  void tell_primary(const std::string& sql) { PostgresSql(pair.primary().address()).execute(sql); }
  /// What those who connect from now on wait for at a commit.
  void set_commits(const std::string& level) {
    tell_primary("ALTER ROLE perdure SET synchronous_commit = '" + level + "'");
  }
  void wait_for(const std::string& question, const std::string& answer) {
    wait_for_answer(pair.primary().address(), question, answer);
  }
  /// The standby stays, and nobody waits for it.
  void set_asynchronous() {
    tell_primary("ALTER SYSTEM SET synchronous_standby_names = ''");
    tell_primary("SELECT pg_reload_conf()");
    wait_for("SHOW synchronous_standby_names", "");
    wait_for("SELECT sync_state FROM pg_stat_replication", "async");
  }
  /// The pair as a role of no rights but those of this store sees it.
  [[nodiscard]] std::string as_a_runner() {
    tell_primary("CREATE ROLE runner LOGIN; SELECT perdure.grant_to('runner')");
    std::string address = pair.address();
    return address.replace(address.find("perdure@"), 7, "runner");
  }

  PostgresPair pair;
};

TEST_F(DoctorOfAPair, FindsASynchronousOneFineUntilItsStandbyIsGone) {
  const auto store = must(open_store(pair.address()));

  const Remark there = about_replication(*store);
  pair.standby().stop(PostgresServer::Stop::fast);
  wait_for("SELECT count(*) FROM pg_stat_replication", "0");
  const Remark gone = about_replication(*store);

  EXPECT_EQ(there.gravity, Gravity::fine) << there.what;
  EXPECT_THAT(there.what, HasSubstr("by 1 of 1 standbys"));
  EXPECT_THAT(there.advice, IsEmpty());
  EXPECT_EQ(gone.gravity, Gravity::warning) << gone.what;
  EXPECT_THAT(gone.what, HasSubstr("commits wait"));
  EXPECT_THAT(gone.advice, HasSubstr("start the standby"));
}

TEST_F(DoctorOfAPair, JudgesWhatACommitWaitsFor) {
  set_commits("remote_write");
  const Remark unsynced = about_replication(pair.address());
  set_commits("local");
  const Remark local = about_replication(pair.address());
  // Off, it is switched on by the store itself.
  set_commits("off");
  const Remark off = about_replication(pair.address());

  EXPECT_EQ(unsynced.gravity, Gravity::warning) << unsynced.what;
  EXPECT_THAT(unsynced.what, HasSubstr("need not have synced"));
  EXPECT_THAT(unsynced.advice, HasSubstr("synchronous_commit = on"));
  EXPECT_EQ(local.gravity, Gravity::danger) << local.what;
  EXPECT_THAT(local.what, HasSubstr("may lose acknowledged commits"));
  EXPECT_EQ(off.gravity, Gravity::fine) << off.what;
}

TEST_F(DoctorOfAPair, GoesByTheSettingsForARoleThatMayNotSeeStandbys) {
  const std::string address = as_a_runner();

  const Remark unseen = about_replication(address);
  tell_primary("GRANT pg_monitor TO runner");
  const Remark seen = about_replication(address);
  tell_primary("REVOKE pg_monitor FROM runner");
  set_asynchronous();
  const Remark asynchronous = about_replication(address);

  EXPECT_EQ(unseen.gravity, Gravity::fine) << unseen.what;
  EXPECT_THAT(unseen.what, HasSubstr("may not see"));
  EXPECT_THAT(seen.what, HasSubstr("by 1 of 1 standbys"));
  EXPECT_EQ(asynchronous.gravity, Gravity::danger) << asynchronous.what;
  EXPECT_THAT(asynchronous.what, HasSubstr("not synchronous (1 standbys)"));
  EXPECT_THAT(asynchronous.advice, HasSubstr("synchronous_standby_names"));
}

}  // namespace
}  // namespace perdure
