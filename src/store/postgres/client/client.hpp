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
// Led by the callers themselves, as in the SQLite backend (sqlite/engine/writer.hpp): while one group
// is under way, the others queue; then the first of them sends all that waits as one pipeline, and
// gives each its answer when the sync was answered. They are sorted by session, so that two processes
// lock the same rows in the same order.
//
// A transaction has no savepoints here: one commit that is refused undoes the others with it. Then
// it is set apart and the others are sent again. It may have been refused because of what another
// one of the group did, so it is sent again too, alone, by its own thread, and that answer counts.

/// One repeatable statement that returns one value.
struct Commission {
  /// Of those in one transaction, who comes first by this is first.
  std::string_view session;
  std::string_view sql;
  /// The last two, booleans, are the committer's: whether an earlier attempt may have happened, so that
  /// the server looks for it first; whether the transaction may reach the disk later.
  Params params;
};

class Committer {
 public:
  /// `patience`: how long a commit is repeated while it is not answered.
  Committer(Pool& pool, Duration patience) : pool_(pool), patience_(patience) {}

  /// Runs it in a transaction that others may share, and returns its value, as bytes. The transaction
  /// may reach the disk later only if every member of the group allows it.
  [[nodiscard]] Result<std::string> commit(Commission what, Sync sync);

  /// In the queue at this moment.
  [[nodiscard]] std::size_t waiting() const;
  /// That were committed, whatever their number of members.
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  /// One caller's commit, on that caller's stack until it is answered.
  struct Request {
    Commission what;
    Sync sync;
    Attempts attempts;
    std::optional<Result<std::string>> result{};
    bool is_done = false;  ///< By its group. Without a result it is to be sent alone.
  };
  /// Moved from list to list without any memory.
  using Group = std::list<Request*>;

  /// The server's no to a member, after which none of the group happened.
  struct Refusal {
    Group::const_iterator member;
    PgError error;
  };

  void submit(Request& request);
  /// As much of the queue as one transaction should hold.
  [[nodiscard]] Group take_group();
  void process(Group& group);
  /// Who has no result after it, or was refused and is not in the group any more, is to be sent alone.
  void commit_together(Group& group);
  void set_apart(Request& request);
  [[nodiscard]] std::optional<Refusal> send_while_away(const Group& group);
  void commit_alone(Request& request);
  /// One try. Throws what may be repeated; no member has a result then.
  [[nodiscard]] std::optional<Refusal> send(const Group& group, bool is_repeated);

  Pool& pool_;
  const Duration patience_;
  std::atomic<std::uint64_t> transactions_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Group queue_;
  bool is_under_way_ = false;
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

  /// Runs one statement that may be repeated, in a transaction of its own. It must also stand a
  /// repetition that begins while the first one, whose connection was lost, still runs.
  /// Fails: what its function raises; `commit_unknown` if it may have happened and no answer came;
  /// `unavailable` if it surely did not.
  [[nodiscard]] Result<Rows> write(std::string_view sql, const Params& params);

  /// The same for several statements in one transaction.
  [[nodiscard]] Result<void> write_all(std::span<const Statement> statements);

  /// Runs a statement that may be repeated, in a transaction that it may share with others
  /// (committer.hpp). Returns its one value. Fails: as write.
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
