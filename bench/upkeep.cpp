// The store is filled without syncs, many turns a commit: only what comes after is measured.
// Every tenth commit of a session replaces its transcript, as a compaction does, so that there is
// something to prune.

#include "upkeep.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ratio>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sessions.hpp"
#include "workload.hpp"

namespace perdure::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t turns_per_commit = 10;
constexpr std::size_t commits_per_session = 100;
constexpr std::size_t quiet_commits = 2000;

std::uint64_t fill(Store& store, const std::vector<Turn>& workload, std::uint64_t bytes_wanted,
                   std::vector<SessionId>& sessions) {
  std::uint64_t bytes = 0;
  while (bytes < bytes_wanted) {
    const Lease lease = start_sessions(store, sessions.size(), 1).at(0);
    sessions.push_back(lease.session);
    Position head = 0;
    for (std::size_t i = 0; i < commits_per_session; ++i) {
      Batch batch = make_batch(workload[i % workload.size()], head);
      for (std::size_t more = 1; more < turns_per_commit; ++more) {
        const Turn& turn = workload[(i * turns_per_commit + more) % workload.size()];
        bytes += turn.bytes();
        for (const NewEntry& entry : make_batch(turn, head).entries) batch.entries.push_back(entry);
      }
      if (i % 10 == 9) batch.entries.front().fold = Fold::replace;
      head = value_or_stop("fill", store.commit(lease, batch)).head;
    }
  }
  return bytes;
}

class Live {
 public:
  Live(Store& store, const std::vector<Turn>& workload, std::size_t number)
      : store_(store), workload_(workload), lease_(start_sessions(store, number, 1).at(0)) {}

  /// Commits turn after turn while `more` says so; how long each took.
  std::vector<double> commit_while(const std::function<bool(std::size_t)>& more) {
    std::vector<double> took_us;
    while (more(took_us.size())) {
      const auto start = SteadyClock::now();
      const Turn& turn = workload_[next_++ % workload_.size()];
      head_ = value_or_stop("commit", store_.commit(lease_, make_batch(turn, head_))).head;
      took_us.push_back(
          std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
    }
    return took_us;
  }

  /// The same while `work` runs on a thread of its own; also how long that took.
  std::pair<std::vector<double>, double> commit_beside(const std::function<void()>& work) {
    std::atomic<bool> done = false;
    const auto start = SteadyClock::now();
    double seconds = 0;
    std::thread beside([&] {
      work();
      seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
      done = true;
    });
    auto took = commit_while([&](std::size_t) { return !done; });
    beside.join();
    return {std::move(took), seconds};
  }

 private:
  Store& store_;
  const std::vector<Turn>& workload_;
  Lease lease_;
  Position head_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

UpkeepMeasured measure_upkeep(const std::string& path, const std::vector<Turn>& workload,
                              std::size_t megabytes) {
  UpkeepMeasured measured;
  std::vector<SessionId> sessions;
  {
    auto store = open_or_stop(path, Durability::process);
    fill(*store, workload, std::uint64_t{megabytes} << 20U, sessions);
  }
  measured.bytes_stored = std::filesystem::file_size(path);
  auto store = open_or_stop(path, Durability::full);
  Live live(*store, workload, sessions.size());
  measured.quiet_us = live.commit_while([](std::size_t count) { return count < quiet_commits; });
  std::tie(measured.backup_us, measured.backup_s) = live.commit_beside(
      [&] { value_or_stop("backup", store->upkeep().backup(path + ".backup")); });
  std::tie(measured.prune_us, measured.prune_s) = live.commit_beside([&] {
    for (const SessionId& session : sessions) {
      measured.bytes_pruned +=
          value_or_stop("prune", store->upkeep().prune(session, {.last = 1})).bytes;
    }
  });
  return measured;
}

}  // namespace perdure::bench
