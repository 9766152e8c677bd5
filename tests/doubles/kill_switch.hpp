// Ends its own process with SIGKILL at a chosen write of a store: of SQLite at a call that changes
// a file (counting_vfs.hpp), of PostgreSQL at a round trip to the server (pg_proxy.hpp). A round
// trip that only reads counts too: nobody can tell from outside.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doubles/counting_vfs.hpp"
#include "doubles/pg_proxy.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class KillSwitch {
 public:
  /// Counted from 1; 0: never. A round trip ends before it is sent; during it, when the server has
  /// done what was asked and not committed it; or after it is committed, and before anybody
  /// hears so.
  KillSwitch(std::uint64_t write, Moment moment) : write_(write), moment_(moment) {}

  /// Once. The store is closed before this goes. Nothing is synced: what a killed process wrote stays
  /// with the kernel, or with the server.
  [[nodiscard]] Result<std::unique_ptr<Store>> open(const std::string& location,
                                                    OpenOptions options);
  [[nodiscard]] std::uint64_t writes() const;
  /// Of SQLite alone, once it is open: as CountingVfs::kill_at_wal_sync.
  void kill_at_wal_sync(std::uint64_t nth) { vfs_->kill_at_wal_sync(nth); }

 private:
  std::uint64_t write_;
  Moment moment_;
  std::unique_ptr<CountingVfs> vfs_;
  std::unique_ptr<PgProxy> proxy_;
};

}  // namespace perdure
