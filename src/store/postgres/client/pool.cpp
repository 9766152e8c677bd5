// Lent last in, first out: those that are surplus lie at the front until they are closed.

#include "postgres/client/pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {
namespace {

// A wait for a lock is ended by the server: its refusal is a clear answer, silence is not.
constexpr Duration patience_beyond_locks = std::chrono::seconds(1);
constexpr Duration surplus_after = std::chrono::minutes(2);

}  // namespace

Pool::Pool(Address address, Counters& counters)
    : address_(std::move(address)), counters_(counters) {
  idle_.reserve(address_.pool);
}

Pool::Loan Pool::borrow(Deadline deadline) {
  std::unique_ptr<Connection> connection;
  for (;;) {
    connection = take_idle(deadline);
    if (connection == nullptr) {
      connection = connect_counted(deadline);
      break;
    }
    if (connection->is_alive()) break;
    connection.reset();
    forget_one();
  }
  connection->set_patience(std::max(deadline.left(), address_.lock_wait + patience_beyond_locks));
  return {connection.release(), Returner{this}};
}

std::unique_ptr<Connection> Pool::take_idle(Deadline deadline) {
  const Duration wait = deadline.left();
  std::unique_lock lock(mutex_);
  const bool is_free =
      freed_.wait_for(lock, wait, [&] { return !idle_.empty() || size_ < address_.pool; });
  if (!is_free) {
    throw PgError::away(fmt::format(
        "all {} connections of this store are in use, and none came back in {} ms. Let fewer "
        "threads use it at once, or give the location a larger pool=",
        address_.pool, wait.count()));
  }
  if (idle_.empty()) {
    ++size_;
    return nullptr;
  }
  auto connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return connection;
}

std::unique_ptr<Connection> Pool::connect_counted(Deadline deadline) try {
  return connect(deadline);
} catch (...) {
  forget_one();
  throw;
}

std::unique_ptr<Connection> Pool::connect(Deadline deadline) {
  std::size_t first = 0;
  std::string_view beginning;
  {
    const std::scoped_lock lock(mutex_);
    first = host_;
    beginning = beginning_;
  }
  auto connection = std::make_unique<Connection>(address_, deadline, counters_, first);
  if (!beginning.empty()) connection->query(beginning);
  const std::scoped_lock lock(mutex_);
  host_ = connection->host();
  return connection;
}

void Pool::begin_with(std::string_view sql) {
  const std::scoped_lock lock(mutex_);
  beginning_ = sql;
}

void Pool::take_back(std::unique_ptr<Connection> connection) noexcept {
  if (!connection->is_usable() || connection->is_swollen()) {
    connection.reset();
    return forget_one();
  }
  std::unique_ptr<Connection> surplus;
  {
    const std::scoped_lock lock(mutex_);
    const Uptime now = system_clock().uptime();
    if (!idle_.empty() && now - idle_.front().since > surplus_after) {
      surplus = std::move(idle_.front().connection);
      idle_.erase(idle_.begin());
      --size_;
    }
    idle_.push_back({std::move(connection), now});
  }
  freed_.notify_one();
}

void Pool::forget_one() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    --size_;
  }
  freed_.notify_one();
}

std::size_t Pool::size() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

}  // namespace perdure::postgres
