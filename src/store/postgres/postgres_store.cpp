// The store object that holds everything together. Members are in the order they depend on each
// other; the watcher's threads end before the client does.

#include "postgres/postgres_store.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/watcher.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/schema.hpp"
#include "postgres/upkeep/upkeep.hpp"
#include "rules/followed.hpp"
#include "store/api/seam.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {

// The doctor: the server's settings, and the standbys it knows of. Only a role that may read
// statistics sees which of them are synchronous; others go by the setting.

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
  if (!facts.syncs || !facts.writes_full_pages) {
    return {Gravity::danger, "disk",
            "the server does not sync: a machine that dies takes commits with it, or all",
            "set fsync = on and full_page_writes = on"};
  }
  if (durability == Durability::process) {
    return {Gravity::danger, "disk",
            "opened with Durability::process: a server that dies takes commits with it",
            "open it with Durability::full"};
  }
  return {Gravity::fine, "disk", "a commit is on the server's disk before it is acknowledged", {}};
}

Remark look_at_replication(const Facts& facts) {
  const std::string topic = "replication";
  if (facts.standbys == 0 && facts.wanted.empty()) {
    return {Gravity::warning, topic,
            "there is no standby: a disk that is lost takes the store with it",
            "add a synchronous standby, and archive the WAL"};
  }
  if (facts.wanted.empty() || facts.commit_level == "local") {
    return {Gravity::danger, topic,
            fmt::format("replication is not synchronous ({} standbys): a fail-over may lose "
                        "acknowledged commits, and with them the record of effects that happened",
                        facts.standbys),
            "set synchronous_standby_names, and synchronous_commit = on"};
  }
  if (facts.synchronous == 0 && facts.unknown == 0) {
    return {Gravity::warning, topic,
            "replication is synchronous, and no such standby is connected: commits wait",
            "start the standby that synchronous_standby_names names"};
  }
  if (facts.commit_level == "remote_write") {
    return {Gravity::warning, topic,
            "replication is synchronous, but a standby need not have synced what it has",
            "set synchronous_commit = on"};
  }
  return {Gravity::fine,
          topic,
          facts.unknown > 0
              ? "replication is set to be synchronous; this role may not see by which standby"
              : fmt::format("replication is synchronous, by {} of {} standbys", facts.synchronous,
                            facts.standbys),
          {}};
}

Remark look_at_checksums(const Facts& facts) {
  if (facts.has_checksums) {
    return {Gravity::fine, "sums", "the server checks the sums of its pages", {}};
  }
  return {Gravity::warning, "sums",
          "the server has no sums of its pages: damage outside of bodies may pass unseen",
          "make the cluster with initdb --data-checksums, or run pg_checksums --enable"};
}

Remark look_at_pooler(const Facts& facts) {
  return {Gravity::fine,
          "pooler",
          facts.is_pooled ? "behind a pooler: statements are not prepared, and changes of "
                            "others are found by looking every 100 ms"
                          : "connected to the server itself",
          {}};
}

Result<std::vector<Remark>> examine(Client& client, Durability durability) {
  return client.read([&](Connection& db) -> Result<std::vector<Remark>> {
    const Facts facts = read_facts(db);
    return std::vector{look_at_disk(facts, durability), look_at_replication(facts),
                       look_at_checksums(facts), look_at_pooler(facts)};
  });
}

class PostgresStore final : public PostgresRoles {
 public:
  PostgresStore(Address address, const OpenOptions& options, FormatSteps steps)
      : PostgresRoles({.client = client_,
                       .watcher = watcher_,
                       .ids = *options.ids,
                       .clock = options.clock == &system_clock() ? nullptr : options.clock,
                       .durability = options.durability}),
        options_(options),
        steps_(steps),
        client_(std::move(address),
                {.patience = options.write_wait, .durability = options.durability}) {}

  ~PostgresStore() override { end_workers(); }
  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;

  Result<void> prepare() {
    auto opened = open_schema(client_, options_.create, *options_.ids, steps_);
    if (!opened) return forward(opened);
    opened_ = *std::move(opened);
    return {};
  }

 private:
  StoreInfo info() const override {
    return {.backend = "postgres",
            .location = client_.address().shown,
            .engine = opened_.engine,
            .format = last_format(steps_),
            .incarnation = opened_.incarnation,
            .durability = options_.durability,
            .commits = commits(),
            .transactions = client_.transactions(),
            .rows_read = client_.counters().rows_read};
  }

  Result<CheckReport> check(const Progress& progress) override {
    return rules::followed(progress,
                           [&](const Progress& told) { return check_store(access_, told); });
  }

  Result<void> backup(const std::string& /*path*/, const Progress& /*progress*/) override {
    return fail(ErrorCode::unsupported,
                "a store in PostgreSQL is backed up with PostgreSQL's own tools: pg_basebackup and "
                "its archived WAL for all of it, pg_dump for one schema",
                "operation");
  }

  Result<std::vector<Remark>> doctor() override { return examine(client_, options_.durability); }

  Result<std::uint64_t> wait_for_change(std::uint64_t since, Duration timeout) override {
    return watcher_.wait(since, timeout);
  }

  Result<void> sync() override {
    if (auto here = process_.check(); !here) return here;
    if (options_.durability == Durability::process) return {};
    auto synced = client_.write("SELECT perdure.sync()", {});
    if (!synced) return forward(synced);
    return {};
  }

  // Asked each time: the server may have crashed since, and this process not noticed.
  Result<std::string> loss_token() override {
    if (auto here = process_.check(); !here) return forward(here);
    auto rows = client_.write("SELECT perdure.loss_token()", {});
    if (!rows) return forward(rows);
    return rows->next() ? rows->string(0) : std::string();
  }

  const OwnProcess process_;
  const OpenOptions options_;
  const FormatSteps steps_;
  Opened opened_;
  Client client_;
  Watcher watcher_{client_, client_.address().notify};
};

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(const std::string& location,
                                             const OpenOptions& options, FormatSteps steps) {
  auto address = parse_address(location);
  if (!address) return forward(address);
  auto store = std::make_unique<PostgresStore>(*std::move(address), options, steps);
  if (auto prepared = store->prepare(); !prepared) return forward(prepared);
  return store;
}

}  // namespace perdure::postgres

namespace perdure {

Result<std::vector<Remark>> examine_server(const std::string& location) {
  auto address = postgres::parse_address(location);
  if (!address) return forward(address);
  const OpenOptions defaults;
  postgres::Client client(*std::move(address),
                          {.patience = defaults.write_wait, .durability = defaults.durability});
  return postgres::examine(client, defaults.durability);
}

}  // namespace perdure
