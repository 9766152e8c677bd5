// All that the rest of the backend knows of the server: reads, writes, commits.
//
// This is where PgError ends. Whatever may be repeated is, until the store's patience is over; what
// is returned then is final for now.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

// Group commit: commits that wait at the same time share one transaction, one round trip and one
// sync.
//
// Led by the callers themselves, as in the SQLite backend (sqlite/engine/writer.hpp): the first in the
// queue sends all that waits to one call of perdure.commit (sql/commit.sql), and gives each its answer. They
// are sorted by session, so that two processes lock the same rows in the same order, and no two of one
// group are of the same session.
//
// Two groups may be under way, so that the server works on one while the callers of the other prepare their
// next commits. The second one is half of all, and sets out when as many wait as are under way: those who
// come back first do not set out alone each time.
//
// One commit that is refused undoes the others with it. Then the group is sent again, to perdure.commit_each,
// which undoes only what it refuses.

/// A batch to commit.
struct Commission {
  std::string_view session;
  std::string batch;         ///< As an array of one perdure.new_batch.
  bool is_examined = false;  ///< What speaks against it is looked for before it is tried.
};

/// Reads the answer to a batch, from its beginning on.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view bytes) : bytes_(bytes) {}

  /// 0: it was committed, 1: it had been before; a receipt follows. 2: it was refused.
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1).front()); }
  std::uint64_t number();
  Digest digest();
  std::string_view take(std::size_t count);
  std::string_view rest() { return take(bytes_.size()); }

 private:
  std::string_view bytes_;
};

class Committer {
 public:
  /// `patience`: how long a commit is repeated while it is not answered. `groups_max`: how many may be
  /// under way at once.
  Committer(Pool& pool, Duration patience, std::size_t groups_max = 2)
      : pool_(pool), patience_(patience), groups_max_(groups_max) {}

  /// Commits it in a transaction that others may share, and returns its answer: a receipt. The
  /// transaction may reach the disk later only if every member of the group allows it.
  [[nodiscard]] Result<std::string> commit(Commission what, Sync sync);

  /// In the queue at this moment.
  [[nodiscard]] std::size_t waiting() const;
  /// That were committed, whatever their number of members.
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  /// What a caller in the queue waits for. Each has a lock of its own: where all share one, those that are
  /// woken meet at it again.
  class Turn {
   public:
    /// `done`: by its group. Without a result it is to be sent alone.
    enum class Call : std::uint8_t { none, lead, done };

    [[nodiscard]] Call wait() {
      std::unique_lock lock(mutex_);
      called_.wait(lock, [this] { return call_ != Call::none; });
      return call_;
    }
    /// The one that waits may be gone when this returns.
    void call(Call call) {
      const std::scoped_lock lock(mutex_);
      call_ = call;
      called_.notify_one();
    }

   private:
    std::mutex mutex_;
    std::condition_variable called_;
    Call call_ = Call::none;
  };

  /// One caller's commit, on that caller's stack until it is answered.
  struct Request {
    Commission what;
    Sync sync;
    Attempts attempts;
    std::optional<Result<std::string>> result{};
    Turn turn{};
  };
  /// Moved from list to list without any memory.
  using Group = std::list<Request*>;

  void submit(Request& request);
  /// Lets the first in the queue lead it if it is time.
  void call_leader();
  /// As much of the queue as one transaction should hold.
  [[nodiscard]] Group take_group();
  void process(Group& group);
  /// Who has no result after it is to be sent alone.
  void commit_together(const Group& group);
  void send_while_away(const Group& group, std::string_view sql);
  void commit_alone(Request& request);
  /// One try. Throws if it failed as a whole: no member has a result then.
  void send(const Group& group, std::string_view sql, bool is_repeated);
  static void deliver(Request& request, std::string_view answer);

  Pool& pool_;
  const Duration patience_;
  const std::size_t groups_max_;
  std::atomic<std::uint64_t> transactions_ = 0;

  mutable std::mutex mutex_;
  Group queue_;
  bool has_leader_ = false;    ///< The first in the queue is about to lead it.
  std::size_t groups_ = 0;     ///< Under way.
  std::size_t under_way_ = 0;  ///< Their members.
};

/// Thread safety: any thread at any time.
class Client {
 public:
  struct Options {
    Duration patience{10'000};  ///< OpenOptions::write_wait.
    Durability durability = Durability::full;
  };

  /// Connects to nothing yet.
  Client(Address address, Options options);

  /// Runs `work(Connection&) -> Result<T>` on a connection of its own, and again from its beginning
  /// if that was lost: whatever `work` changes outside, it must begin again. It must not ask this
  /// client for anything, because it holds a connection already.
  ///
  /// Each statement sees a state of its own. Only for what changes nothing, or does no harm twice.
  /// Fails: as `work`; `unavailable`.
  template <class Work>
  auto read(Work work) -> decltype(work(std::declval<Connection&>())) {
    if (auto here = process_.check(); !here) return forward(here);
    Attempts attempts(options_.patience);
    for (;;) {
      try {
        const Pool::Loan connection = pool_.borrow(attempts.deadline());
        return work(*connection);
      } catch (const PgError& error) {
        // A read changes nothing, so it does not matter whether it happened.
        if (attempts.after(error)) {
          return std::unexpected(attempts.reason(error).to_error());
        }
      } catch (const std::bad_alloc&) {
        return fail(ErrorCode::unavailable, "out of memory");
      }
    }
  }

  /// Runs one statement that may be repeated, in a transaction of its own. It must also tolerate a
  /// repetition that begins while the first one, whose connection was lost, still runs.
  /// Fails: what its function raises; `commit_unknown` if it may have happened and no answer came;
  /// `unavailable` if it surely did not.
  [[nodiscard]] Result<Rows> write(std::string_view sql, const Params& params);

  /// The same for several statements in one transaction.
  [[nodiscard]] Result<void> write_all(std::span<const Statement> statements);

  /// Commits a batch, in a transaction that it may share with others. Returns its answer. Fails: as
  /// write.
  [[nodiscard]] Result<std::string> commit(Commission what, Sync sync);

  /// A connection for one who stays on it, such as a listener. One try.
  /// Fails: `unavailable`; `unsupported`.
  [[nodiscard]] Result<std::unique_ptr<Connection>> connect();

  /// From now on every new connection begins with this statement, a literal.
  void begin_with(std::string_view sql) { pool_.begin_with(sql); }

  [[nodiscard]] const Address& address() const { return pool_.address(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Writes and groups of commits that were committed.
  [[nodiscard]] std::uint64_t transactions() const { return writes_ + committer_.transactions(); }

 private:
  template <class Work>
  auto repeat(Work work) -> decltype(work(std::declval<Connection&>()));

  const OwnProcess process_;
  const Options options_;
  Counters counters_;
  Pool pool_;
  Committer committer_;
  std::atomic<std::uint64_t> writes_ = 0;
};

}  // namespace perdure::postgres
