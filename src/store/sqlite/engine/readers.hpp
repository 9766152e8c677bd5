// Connections for reading, apart from the writer: a read never waits for a write. And the one that
// looks whether anything was written.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

class Readers {
 public:
  Readers(std::string path, std::string vfs, std::atomic<std::uint64_t>* rows_read);

  /// Runs `work(Connection&) -> Result<T>` on one consistent state of the store.
  template <class Work>
  auto read(Work work) -> decltype(work(std::declval<Connection&>())) {
    if (auto here = process_.check(); !here) return forward(here);
    return without_exceptions([&] {
      auto connection = take();
      auto result = in_snapshot(*connection, work);
      give_back(std::move(connection));
      return result;
    });
  }

  /// The same on a connection of its own, which has no page of the file in memory yet.
  template <class Work>
  auto read_apart(Work work) -> decltype(work(std::declval<Connection&>())) {
    if (auto here = process_.check(); !here) return forward(here);
    return without_exceptions([&] { return in_snapshot(*open(), work); });
  }

  [[nodiscard]] std::unique_ptr<Connection> open() const;

  /// From now on reads also what is left of a file that is shorter than it should be, or
  /// whose list of tables is damaged, which SQLite refuses to touch otherwise. Not for
  /// writing: that would make new pages of those that are missing.
  void tolerate_damage() { tolerant_ = true; }

 private:
  class Snapshot {
   public:
    explicit Snapshot(Connection& connection) : connection_(connection) { connection.run("BEGIN"); }
    ~Snapshot();
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

   private:
    Connection& connection_;
  };

  template <class Work>
  static auto in_snapshot(Connection& connection, Work& work) {
    const Snapshot snapshot(connection);
    return work(connection);
  }

  template <class Work>
  static auto without_exceptions(Work work) -> decltype(work()) {
    try {
      return work();
    } catch (const SqliteError& error) {
      return std::unexpected(error.to_error());
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::unavailable, "out of memory");
    }
  }

  std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);

  const OwnProcess process_;
  const std::string path_;
  const std::string vfs_;
  std::atomic<std::uint64_t>* rows_read_;
  std::atomic<bool> tolerant_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

// Notices that the store changed, no matter who changed it: waiters look again every few moments,
// which costs less than being notified.

class Watcher {
 public:
  /// `readers` must outlive this.
  explicit Watcher(Readers& readers) : readers_(readers) {}

  /// As Store::wait_for_change.
  [[nodiscard]] Result<std::uint64_t> wait(std::uint64_t since, Duration timeout);

 private:
  Result<void> look(const std::unique_lock<std::mutex>& held);

  const OwnProcess process_;
  Readers& readers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  std::int64_t data_version_ = 0;
  std::uint64_t number_ = 1;
};

}  // namespace perdure::sqlite
