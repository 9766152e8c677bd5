// The server's settings, and the standbys it knows of. Which of them are synchronous only a role
// that may read statistics is told; others go by the setting.

#include "postgres/upkeep/doctor.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/operations/roles.hpp"

namespace perdure::postgres {
namespace {

struct Facts {
  bool syncs = true;
  bool writes_full_pages = true;
  bool has_checksums = true;
  std::string commit_level{};  ///< synchronous_commit.
  std::string wanted{};        ///< synchronous_standby_names.
  std::int64_t standbys = 0;   ///< Connected.
  std::int64_t synchronous = 0;
  std::int64_t unknown = 0;  ///< Connected, and we may not know how.
  bool is_pooled = false;
};

Facts read_facts(Connection& db) {
  Rows rows = db.query(
      "SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', "
      "current_setting('data_checksums') = 'on', current_setting('synchronous_commit'), "
      "current_setting('synchronous_standby_names'), count(r.pid), "
      "count(*) FILTER (WHERE r.sync_state IN ('sync', 'quorum')), "
      "count(*) FILTER (WHERE r.pid IS NOT NULL AND r.sync_state IS NULL) "
      "FROM (SELECT) one LEFT JOIN pg_stat_replication r ON true");
  rows.next();
  return {.syncs = rows.boolean(0),
          .writes_full_pages = rows.boolean(1),
          .has_checksums = rows.boolean(2),
          .commit_level = rows.string(3),
          .wanted = rows.string(4),
          .standbys = rows.integer(5),
          .synchronous = rows.integer(6),
          .unknown = rows.integer(7),
          .is_pooled = db.is_pooled()};
}

Remark look_at_disk(const Facts& facts, Durability durability) {
  Remark remark{.gravity = Gravity::danger, .topic = "disk", .what = {}, .advice = {}};
  if (!facts.syncs || !facts.writes_full_pages) {
    remark.what = "the server does not sync: a machine that dies takes commits with it, or all";
    remark.advice = "set fsync = on and full_page_writes = on";
    return remark;
  }
  if (durability == Durability::process) {
    remark.what = "opened with Durability::process: a server that dies takes commits with it";
    remark.advice = "open it with Durability::full";
    return remark;
  }
  return {.gravity = Gravity::fine,
          .topic = "disk",
          .what = "a commit is on the server's disk before it is acknowledged",
          .advice = {}};
}

Remark look_at_replication(const Facts& facts) {
  Remark remark{.gravity = Gravity::fine, .topic = "replication", .what = {}, .advice = {}};
  const bool waits = !facts.wanted.empty() && facts.commit_level != "local";
  if (facts.standbys == 0 && facts.wanted.empty()) {
    remark.gravity = Gravity::warning;
    remark.what = "there is no standby: a disk that is lost takes the store with it";
    remark.advice = "add a synchronous standby, and archive the WAL";
  } else if (!waits) {
    remark.gravity = Gravity::danger;
    remark.what = fmt::format(
        "replication is not synchronous ({} standbys): a fail-over may lose acknowledged commits, "
        "and with them the record of effects that happened",
        facts.standbys);
    remark.advice = "set synchronous_standby_names, and synchronous_commit = on";
  } else if (facts.synchronous == 0 && facts.unknown == 0) {
    remark.gravity = Gravity::warning;
    remark.what = "replication is synchronous, and no such standby is connected: commits wait";
    remark.advice = "start the standby that synchronous_standby_names names";
  } else if (facts.commit_level == "remote_write") {
    remark.gravity = Gravity::warning;
    remark.what = "replication is synchronous, but a standby need not have synced what it has";
    remark.advice = "set synchronous_commit = on";
  } else {
    remark.what =
        facts.unknown > 0
            ? "replication is set to be synchronous; this role may not see by which standby"
            : fmt::format("replication is synchronous, by {} of {} standbys", facts.synchronous,
                          facts.standbys);
  }
  return remark;
}

Remark look_at_checksums(const Facts& facts) {
  if (facts.has_checksums) {
    return {.gravity = Gravity::fine,
            .topic = "sums",
            .what = "the server checks the sums of its pages",
            .advice = {}};
  }
  return {.gravity = Gravity::warning,
          .topic = "sums",
          .what = "the server has no sums of its pages: damage outside of bodies may pass unseen",
          .advice = "make the cluster with initdb --data-checksums, or run pg_checksums --enable"};
}

Remark look_at_pooler(const Facts& facts) {
  return {.gravity = Gravity::fine,
          .topic = "pooler",
          .what = facts.is_pooled ? "behind a pooler: statements are not prepared, and changes of "
                                    "others are found by looking every 100 ms"
                                  : "connected to the server itself",
          .advice = {}};
}

Result<std::vector<Remark>> look_at_all(Client& client, Durability durability) {
  return client.read([&](Connection& db) -> Result<std::vector<Remark>> {
    const Facts facts = read_facts(db);
    return std::vector{look_at_disk(facts, durability), look_at_replication(facts),
                       look_at_checksums(facts), look_at_pooler(facts)};
  });
}

}  // namespace

Result<std::vector<Remark>> examine(const Access& access) {
  return look_at_all(access.client, access.durability);
}

}  // namespace perdure::postgres

namespace perdure {

Result<std::vector<Remark>> examine_server(const std::string& location) {
  auto address = postgres::parse_address(location);
  if (!address) return forward(address);
  const OpenOptions defaults;
  postgres::Client client(*std::move(address),
                          {.patience = defaults.write_wait, .durability = defaults.durability});
  return postgres::look_at_all(client, defaults.durability);
}

}  // namespace perdure
