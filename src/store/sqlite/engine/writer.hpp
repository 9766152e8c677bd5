// Who may write, what of it was acknowledged, and the one place that writes.

#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/schema.hpp"

namespace perdure::sqlite {

/// What SQLite says of the WAL.
struct WalIndex {
  std::array<std::uint32_t, 2> salts{};  ///< New ones whenever the WAL is restarted.
  std::uint32_t frames = 0;              ///< Up to and with the last commit.
  std::uint32_t written_back = 0;        ///< So many of them are in the main file.
  std::uint32_t page_size = 0;
  std::uint32_t pages = 0;  ///< Of the store, after the last commit.

  bool operator==(const WalIndex&) const = default;
};

/// Nothing if it cannot be read, or is just being changed. To be asked in one's turn.
[[nodiscard]] std::optional<WalIndex> read_wal_index(Connection& connection) noexcept;

/// Clears the two copies of the header of its index; the next reader rebuilds the index. To
/// be done in one's turn.
void forget_wal_index(Connection& connection);

// Keeps the record of acknowledged frames (lock_file.hpp), and says at opening whether
// they are still there. SQLite takes a WAL that was deleted, cut or damaged for the end of
// what was written, and silently continues from an earlier state.
//
// Frames stop being needed when all were written back to the main file and synced there;
// then the record is cleared, always after the fact. A WAL that was written back and
// restarted or deleted before that (a process killed in between, another program, a power cut
// that took the record back) is distinguished from a lost one by the main file itself: pages that
// the frames were to change (`WalRecord::before`) are no longer what they were.
//
// All of it in one's turn. None of it fails: a record that cannot be kept claims less.

class Acknowledged {
 public:
  /// Both must outlive this.
  Acknowledged(Connection& connection, LockFile& lock_file)
      : connection_(connection), lock_file_(lock_file) {}

  /// What an acknowledged commit may rest on.
  enum class Needs : std::uint8_t { all, synced };

  /// At opening, once SQLite has read the WAL: whether frames are gone that must be there. After
  /// a failed sync only those that were synced must.
  [[nodiscard]] bool are_missing(Needs needs);

  /// After COMMIT made the WAL `frames` long, before any caller is answered.
  void note(std::uint32_t frames, bool synced);

  /// Whether there are frames that are not known to be in the main file.
  [[nodiscard]] bool has_claims() const { return lock_file_.read_record().frames > 0; }

  /// Around every checkpoint, no matter who asked for it.
  void begin_write_back();
  void end_write_back(bool complete);

  /// At opening, after its COMMIT: from now on what the WAL holds must be there. `before` is the
  /// index as it was before that transaction, which synced what it wrote.
  void begin(const std::optional<WalIndex>& before);

 private:
  void keep(WalRecord record);

  Connection& connection_;
  LockFile& lock_file_;
  const std::uint64_t boot_ = current_boot();
};

// Whether this store object may still write; asked at the start of every turn.
//
// It closes for good when a sync failed, here or in any process: the kernel may
// have dropped pages it could not write, and a later sync that succeeds would say
// nothing about them. And when the file, or its write-ahead log, is no longer the one that
// was opened: what is written to a deleted file is lost, and what a newer build made of it is
// not ours to change.

class Gate {
 public:
  /// `lock_file` must outlive this.
  Gate(std::string path, LockFile& lock_file);

  /// To be called once the store is ready, in its turn: what is there now is what
  /// has to stay.
  void open();

  /// Fails: `closed`, or `corrupted`. Before `open` only what `close` said counts.
  [[nodiscard]] Result<void> check();

  /// Whether it closed because the log has lost its name, and nothing else has: those who had the
  /// log open still have all of it, and no other has been started. In one's turn.
  [[nodiscard]] bool has_log_in_hand() const;

  /// Syncs that had failed when it was opened.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

  /// A sync failed: no process that has the store open now may write.
  void close_for_all();
  void close(std::string why);
  /// Reading may continue; what is written to a damaged store may damage the rest.
  void close_as_damaged(std::string why);

 private:
  using Identity = std::optional<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>>;
  static Identity identity_of(const std::string& path);

  const std::string path_;
  const std::string log_path_;
  LockFile& lock_file_;
  bool is_open_ = false;
  bool was_log_ = false;
  Identity file_;
  Identity log_;
  Identity lock_;
  std::uint64_t failures_ = 0;
  std::optional<Error> closed_;
};

// Group commit.
//
// Each caller queues what it has to write. The first in the queue becomes the
// leader: it takes all that waits, applies it in one transaction with one sync,
// and answers everybody after COMMIT, never before. So a lone caller commits at
// once on its own thread, and n waiting callers share one sync. Processes on the
// same file take turns by the lock file.
//
// Each request of a group runs in a savepoint of its own: one that fails leaves no
// trace, and the others continue.

class Writer {
 public:
  struct Options {
    std::string path;
    Durability durability = Durability::full;
    Duration wait{};  ///< For other processes.
    std::int64_t format = format_number;
  };

  /// Both must outlive this.
  Writer(Connection& connection, LockFile& lock_file, Options options);

  /// Runs `work(Connection&) -> Result<T>` in a transaction, and returns its value
  /// once that is committed. A failed result is rolled back.
  template <class Work>
  auto write(Work work, Sync sync = Sync::now) -> decltype(work(std::declval<Connection&>())) {
    std::optional<decltype(work(connection_))> result;
    Request request{.apply =
                        [&](Connection& connection) {
                          result.emplace(work(connection));
                          return result->has_value();
                        },
                    .sync = sync};
    submit(request);
    if (request.failed) return std::unexpected(*std::move(request.failed));
    return *std::move(result);
  }

  /// Writes the WAL back into the file and cuts it to nothing. False if others still
  /// read from it after a short wait.
  [[nodiscard]] Result<bool> empty_wal();

  /// For the end, when there are no more writes: writes back what it can, if the turn is free.
  void finish() noexcept;

  /// True if all of the WAL is now in the main file, and synced. In one's turn.
  bool write_back(int mode);

  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] Acknowledged& acknowledged() { return acknowledged_; }
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  /// One caller's write, on that caller's stack until it is answered.
  struct Request {
    std::function<bool(Connection&)> apply;  ///< False: roll back what it did.
    Sync sync = Sync::now;
    std::optional<Error> failed{};  ///< Whatever `apply` said.
    bool empties_wal = false;
    bool emptied = false;
    bool accepted = false;
    bool answered = false;
    std::condition_variable ready{};
  };

  using Group = std::vector<Request*>;

  void submit(Request& request);
  void process(const Group& group);
  void commit(const Group& group);
  /// Fails: `closed`.
  Result<void> check_is_our_format();
  bool apply_all(const Group& group);
  void apply_one(Request& request, bool shared);
  void roll_back();
  void close_after(const SqliteError& error);
  void reject_waiting(const Error& error);
  void set_synchronous(bool full);
  static int remember_pages(void* writer, sqlite3* handle, const char* name, int count);
  void answer(const Group& group);
  void checkpoint_if_large();
  void empty_wal_for(const Group& group);
  static void reject_all(const Group& group, const Error& error);

  const OwnProcess process_;
  Connection& connection_;
  LockFile& lock_file_;
  const Options options_;
  Gate gate_;
  Acknowledged acknowledged_;
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
