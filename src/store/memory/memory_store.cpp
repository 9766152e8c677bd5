// One mutex over plain tables, and the roles as views of it: slow on purpose where
// that makes it obvious, but a commit never costs more than its batch.

#include "memory/memory_store.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/commit.hpp"
#include "memory/roles.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/checks.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace memory {

Result<Receipt> MemoryStore::commit(const Lease& lease, const Batch& batch) {
  auto checked = rules::check(batch);
  if (!checked) return forward(checked);
  return base_.state.with(
      [&](State& state) { return memory::commit(state, lease, batch, base_.clock.now()); });
}

Result<Created> MemoryStore::create(const NewSession& session, const WorkerId& worker,
                                    const Batch& first) {
  if (auto checked = rules::check(session); !checked) return forward(checked);
  if (auto checked = rules::check(first); !checked) return forward(checked);
  return base_.state.with(
      [&](State& state) { return memory::create(state, session, worker, first, base_.clock); });
}

StoreInfo MemoryStore::info() const {
  StoreInfo info = base_.info;
  static_cast<void>(base_.state.with([&](State& state) -> Result<void> {
    info.commits = state.counters.commits;
    info.transactions = state.counters.transactions;
    info.rows_read = state.counters.rows_read;
    return {};
  }));
  return info;
}

// Only this process can make a change.
Result<std::uint64_t> MemoryStore::wait_for_change(std::uint64_t since, Duration timeout) {
  return base_.state.wait(
      timeout, [since](const State& state) { return state.changes > since; },
      [](const State& state) -> Result<std::uint64_t> { return state.changes; });
}

Result<void> MemoryStore::backup(const std::string& /*path*/, const Progress& /*progress*/) {
  return fail(ErrorCode::unsupported, "a store in memory has no file to back up", "operation");
}

Result<std::vector<Remark>> MemoryStore::doctor() {
  return std::vector{Remark{.gravity = Gravity::danger,
                            .topic = "disk",
                            .what = "the store is in memory: all of it goes with the process",
                            .advice = "open a file or a database"}};
}

Result<void> MemoryStore::sync() {
  return base_.state.with([](State&) -> Result<void> { return {}; });
}

}  // namespace memory

Result<std::unique_ptr<Store>> open_memory(const OpenOptions& options) {
  if (!options.create) {
    return fail(ErrorCode::not_found,
                "a memory store is new whenever it is opened, and create is off");
  }
  StoreInfo info{.backend = "memory",
                 .location = "memory:",
                 .engine = "memory",
                 .format = 1,
                 .incarnation = "sto_" + to_base32(options.ids->next()),
                 // As asked for; memory keeps every promise but survival.
                 .durability = options.durability};
  return std::make_unique<memory::MemoryStore>(*options.clock, std::move(info));
}

}  // namespace perdure
