// A store whose every write and sync is counted, and one session in it that takes
// turns as agents do: four messages, a plan and a checkpoint, about 4 KB.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "doubles/counting_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class CountedStore {
 public:
  explicit CountedStore(Durability durability = Durability::full, Clock& clock = system_clock());

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] std::string path() const { return folder_.file("store.db"); }

  /// A session of that name, owned by this store's one worker.
  [[nodiscard]] Lease open_session(const std::string& name);
  /// The batch of the session's next turn.
  [[nodiscard]] Batch next_turn(const SessionId& session);
  /// Takes `count` turns, one commit each.
  void take_turns(const Lease& lease, std::size_t count, Sync sync = Sync::now);

  [[nodiscard]] FileCounts wal() const { return vfs_.counts(FileKind::wal); }
  [[nodiscard]] FileCounts database() const { return vfs_.counts(FileKind::database); }
  [[nodiscard]] std::uint64_t syncs() const { return wal().syncs + database().syncs; }
  [[nodiscard]] StoreInfo counters() { return store_->info(); }

  static constexpr std::size_t entries_per_turn = 5;

 private:
  TempFolder folder_;
  CountingVfs vfs_;
  std::unique_ptr<Store> store_;
  WorkerId worker_;
};

}  // namespace perdure
