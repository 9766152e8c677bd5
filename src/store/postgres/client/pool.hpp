// The connections of one store: at most so many, made when they are needed.
//
// A connection that lay idle may have died meanwhile, by a restart of the server or a firewall. It
// is looked at before it is lent, and a dead one is replaced without a word; what dies in use is
// its user's to repeat (error.hpp).

#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {

/// Thread safety: any thread at any time. Who holds a loan must not ask for a second one: all
/// could wait for each other until their deadlines.
class Pool {
 public:
  struct Returner {
    Pool* pool;
    void operator()(Connection* lent) const { pool->take_back(std::unique_ptr<Connection>(lent)); }
  };
  /// A connection for as long as this lives.
  using Loan = std::unique_ptr<Connection, Returner>;

  /// `counters` must outlive it.
  Pool(Address address, Counters& counters);

  /// An idle connection, or a new one, or the first that comes back; its patience is what is left
  /// until the deadline, but more than the server lets it wait for a lock. Throws PgError.
  [[nodiscard]] Loan borrow(Deadline deadline);

  /// One that is not counted and not taken back, for one who stays on it.
  [[nodiscard]] std::unique_ptr<Connection> connect(Deadline deadline);

  /// From now on every new connection begins with this statement, which must be a literal. Those
  /// that are there have done what it does.
  void begin_with(std::string_view sql);

  [[nodiscard]] const Address& address() const { return address_; }
  /// Lent or idle.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Uptime since;
  };

  /// Null: there is room for a new one, which the caller now has to make.
  [[nodiscard]] std::unique_ptr<Connection> take_idle(Deadline deadline);
  [[nodiscard]] std::unique_ptr<Connection> connect_counted(Deadline deadline);
  void take_back(std::unique_ptr<Connection> connection) noexcept;
  void forget_one() noexcept;

  const Address address_;
  Counters& counters_;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Idle> idle_;  ///< The one used last is at the end, and is taken first.
  std::size_t size_ = 0;
  std::string_view beginning_;
  std::size_t host_ = 0;  ///< That was good last time.
};

}  // namespace perdure::postgres
