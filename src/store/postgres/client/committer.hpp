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

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/pool.hpp"

namespace perdure::postgres {

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

}  // namespace perdure::postgres
