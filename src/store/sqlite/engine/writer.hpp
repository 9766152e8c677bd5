// The one place that writes: group commit.
//
// Whoever has something to write queues it. The first in the queue becomes the
// leader: it takes all that waits, applies it in one transaction with one sync,
// and answers everybody after COMMIT, never before. So a lone caller commits at
// once on its own thread, and n waiting callers share one sync. Processes on the
// same file take turns by the lock file.
//
// Each request of a group runs in a savepoint of its own: one that fails leaves no
// trace, and the others go on.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/acknowledged.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/gate.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/schema.hpp"

namespace perdure::sqlite {

class Writer {
 public:
  struct Options {
    Durability durability = Durability::full;
    Duration wait{};  ///< For other processes.
    std::int64_t format = format_number;
  };

  /// What it writes with; all must outlive it.
  struct Parts {
    Connection& connection;
    LockFile& lock_file;
    Gate& gate;
    Acknowledged& acknowledged;
  };
  Writer(const Parts& parts, Options options);

  /// Runs `work(Connection&) -> Result<T>` in a transaction, and returns its value
  /// once that is committed. A failed result is rolled back.
  template <class Work>
  auto write(Work work, Sync sync = Sync::now) -> decltype(work(std::declval<Connection&>())) {
    Task<Work> task(std::move(work), sync);
    submit(task);
    return *std::move(task.result);
  }

  /// Writes the WAL back into the file and cuts it to nothing. False if somebody still
  /// read from it after a short wait.
  [[nodiscard]] Result<bool> empty_wal();

  /// For the end, when nobody writes any more: writes back what it can, if it is nobody's turn.
  void finish() noexcept;

  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  /// One caller's write, on that caller's stack until it is answered.
  struct Request {
    explicit Request(Sync when) : sync(when) {}
    virtual ~Request() = default;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    /// False: roll back what it did.
    virtual bool apply(Connection& connection) = 0;
    virtual void reject(Error error) = 0;

    Sync sync;
    bool empties_wal = false;
    bool emptied = false;
    bool accepted = false;
    bool answered = false;
    std::condition_variable ready;
  };

  template <class Work>
  struct Task final : Request {
    using Outcome = decltype(std::declval<Work>()(std::declval<Connection&>()));
    Task(Work w, Sync when) : Request(when), work(std::move(w)) {}

    bool apply(Connection& connection) override {
      result.emplace(work(connection));
      return result->has_value();
    }
    void reject(Error error) override { result.emplace(std::unexpected(std::move(error))); }

    Work work;
    std::optional<Outcome> result;
  };

  using Group = std::vector<Request*>;

  void submit(Request& request);
  void process(const Group& group);
  void commit(const Group& group);
  /// Fails: `closed`.
  Result<void> check_is_our_format();
  bool apply_all(const Group& group);
  /// What SQLite said, if it failed.
  std::optional<Error> apply_one(Request& request, bool shared);
  void roll_back();
  void close_after(const SqliteError& error);
  void reject_waiting(const Error& error);
  void set_synchronous(bool full);
  static int remember_pages(void* writer, sqlite3* handle, const char* name, int count);
  void answer(const Group& group);
  void checkpoint_if_large();
  /// True if all of the WAL is now in the main file, and synced.
  bool write_back(int mode);
  void empty_wal_for(const Group& group);
  static void reject_all(const Group& group, const Error& error);

  const OwnProcess process_;
  Connection& connection_;
  LockFile& lock_file_;
  Gate& gate_;
  Acknowledged& acknowledged_;
  const Options options_;
  std::optional<bool> synchronous_full_;
  int wal_pages_ = 0;
  bool wrote_frames_ = false;
  int checkpoint_at_;
  std::atomic<std::uint64_t> transactions_ = 0;

  std::mutex mutex_;
  Group queue_;
  bool leading_ = false;
};

}  // namespace perdure::sqlite
