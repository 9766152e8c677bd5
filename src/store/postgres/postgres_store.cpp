// The store object that holds everything together. Members are in the order they depend on each
// other; the watcher's threads end before the client does.

#include "postgres/postgres_store.hpp"

#include <cstdint>
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
#include "store/api/transfer.hpp"

namespace perdure::postgres {

namespace {

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
