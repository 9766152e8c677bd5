// Group commit: callers queue, and one sends what all of them wait for.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "postgres/client/attempts.hpp"
#include "postgres/client/commission.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/pool.hpp"

namespace perdure::postgres {

// What one caller in a queue waits for: that it is to lead, or that somebody else has done its work.
//
// Each has a lock of its own: where all share one, those who are woken meet at it once more.

class QueueWaiter {
 public:
  enum class Call : std::uint8_t { none, lead, done };

  /// Returns what it was called for.
  Call wait() {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [this] { return call_ != Call::none; });
    return call_;
  }
  /// Once. The caller may be gone when this returns.
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
struct CommitRequest {
  const Commission& what;
  Sync sync;
  Attempts attempts;
  std::optional<Result<std::string>> result{};
  QueueWaiter turn{};
};

/// `group` must outlive it.
class Shipment {
 public:
  /// `is_repeated`: of one that was sent before.
  explicit Shipment(std::span<CommitRequest* const> group, bool is_repeated = false);

  /// All members allow that the transaction reaches the disk later.
  [[nodiscard]] bool is_later() const { return is_later_; }
  [[nodiscard]] std::vector<Statement> statements() const;
  /// To whom this no to a statement belongs, by their places in the group, rising.
  [[nodiscard]] std::vector<std::size_t> refused(std::size_t statement, const PgError& error) const;
  /// Gives everybody their result: there is one answer for each statement, none of them a PgError.
  void deliver(std::vector<Answer> answers) const;

 private:
  struct Part {
    Prepared sent;
    std::vector<std::size_t> members{};  ///< Places in the group.
  };

  void add(std::vector<std::size_t> members, bool is_repeated);

  std::span<CommitRequest* const> group_;
  bool is_later_;
  std::vector<Part> parts_;
};

// Group commit: commits that wait at the same time share one transaction, one round trip and one
// sync.
//
// Led by the callers themselves, as in the SQLite backend (sqlite/writer.hpp): the first in the queue
// sends all that waits as one pipeline (shipment.hpp) and answers everybody when its sync was
// answered. They are sorted by session, so that two processes lock the same rows in the same order.
//
// Two groups may be under way: the server works on one while it writes out the other, or on both. Each
// is half of all there are. The second one sets out when as many wait as are under way, so that
// those who come back first do not set out alone each time.
//
// A transaction has no savepoints here: one commit that is refused undoes the others with it. Then
// it is set apart and the others are sent again. It may have been refused because of what another
// one of the group did, so it is sent again too, alone, by its own thread, and that answer counts.

class Committer {
 public:
  /// `patience`: how long a commit is repeated while it is not answered. `groups_max`: how many are
  /// under way at once.
  Committer(Pool& pool, Duration patience, std::size_t groups_max = 2)
      : pool_(pool), patience_(patience), groups_max_(groups_max) {}

  /// Runs it in a transaction that others may share, and returns its value, as bytes. The transaction
  /// may reach the disk later only if every member of the group allows it.
  [[nodiscard]] Result<std::string> commit(const Commission& what, Sync sync);

  /// In the queue at this moment.
  [[nodiscard]] std::size_t waiting() const;
  /// That were committed, whatever their number of members.
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

 private:
  using Request = CommitRequest;
  using Group = std::vector<Request*>;

  /// The server's no to some, after which none of the group happened.
  struct Refusal {
    std::vector<std::size_t> members;  ///< Their places in the group, rising.
    PgError error;
  };

  void submit(Request& request);
  /// Calls the first in the queue if it is to lead it now.
  void call_leader();
  /// As much of the queue as one transaction should hold.
  [[nodiscard]] Group take_group();
  void process(const Group& all);
  /// Who has no result after it is to be sent alone.
  void commit_together(Group group);
  [[nodiscard]] std::optional<Refusal> send_while_away(const Group& group);
  void commit_alone(Request& request);
  /// One try. Throws what may be repeated; nobody has a result then.
  [[nodiscard]] std::optional<Refusal> send(std::span<Request* const> group, bool is_repeated);

  Pool& pool_;
  const Duration patience_;
  const std::size_t groups_max_;
  std::atomic<std::uint64_t> transactions_ = 0;

  mutable std::mutex mutex_;
  Group queue_;
  bool is_called_ = false;     // The first in the queue is about to lead.
  std::size_t groups_ = 0;     // Under way.
  std::size_t under_way_ = 0;  // Their members.
};

}  // namespace perdure::postgres
