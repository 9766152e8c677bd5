// All that the rest of the backend knows of the server: reads, writes, commits.
//
// This is where PgError ends. Whatever may be repeated is, until the store's patience is over; what
// is returned then is final for now.

#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/committer.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/pool.hpp"

namespace perdure::postgres {

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
