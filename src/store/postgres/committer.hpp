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

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"
#include "postgres/commission.hpp"
#include "postgres/error.hpp"
#include "postgres/pool.hpp"
#include "postgres/shipment.hpp"

namespace perdure::postgres {

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
