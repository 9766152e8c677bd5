// Where repetition begins and ends (error.hpp).

#include "postgres/client/client.hpp"

#include <algorithm>
#include <expected>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

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
namespace {

// A wait for a lock is cut into pieces: others of the same group go on after the first one.
constexpr Duration lock_wait_min{100};
constexpr Duration lock_wait_max{2'000};

Address with_lock_wait(Address address, Duration patience) {
  address.lock_wait = std::clamp(patience, lock_wait_min, lock_wait_max);
  return address;
}

}  // namespace

Client::Client(Address address, Options options)
    : options_(options),
      pool_(with_lock_wait(std::move(address), options.patience), counters_),
      committer_(pool_, options.patience) {}

// `work` is one transaction, the same one each time.
template <class Work>
auto Client::repeat(Work work) -> decltype(work(std::declval<Connection&>())) {
  if (auto here = process_.check(); !here) return forward(here);
  Attempts attempts(options_.patience);
  for (;;) {
    try {
      const Pool::Loan connection = pool_.borrow(attempts.deadline());
      auto done = work(*connection);
      if (attempts.may_have_happened()) connection->await_durability();
      ++writes_;
      return done;
    } catch (const PgError& error) {
      if (auto last = attempts.after(error)) return std::unexpected(*std::move(last));
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::commit_unknown, "out of memory while the server was asked");
    }
  }
}

Result<Rows> Client::write(std::string_view sql, const Params& params) {
  return repeat([&](Connection& db) -> Result<Rows> { return db.query(sql, params); });
}

Result<void> Client::write_all(std::span<const Statement> statements) {
  return repeat([&](Connection& db) -> Result<void> {
    for (const Answer& answer : db.pipeline(statements)) {
      if (const auto* refused = std::get_if<PgError>(&answer)) throw *refused;
    }
    return {};
  });
}

Result<std::string> Client::commit(Commission what, Sync sync) {
  if (auto here = process_.check(); !here) return forward(here);
  const Sync allowed = options_.durability == Durability::process ? Sync::later : sync;
  try {
    return committer_.commit(std::move(what), allowed);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::unavailable, "out of memory");
  }
}

Result<std::unique_ptr<Connection>> Client::connect() try {
  if (auto here = process_.check(); !here) return forward(here);
  auto connection = pool_.connect(Deadline(options_.patience));
  connection->set_patience(options_.patience);
  return connection;
} catch (const PgError& error) {
  return std::unexpected(error.to_error());
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::unavailable, "out of memory");
}

}  // namespace perdure::postgres
