// Where repetition begins and ends (error.hpp).

#include "postgres/client/client.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <expected>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

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

// Group commit.
//
// What a lost reply does: it is not known if any of the group happened, so each is sent again, alone,
// and the server finds by its batch id whether it happened. Alone, because it may be one of them that
// brings the server down or waits for a lock longer than the others' patience; and by its own thread, so
// that the others, and those who queue, need not wait for it.

namespace {

// A group is held up by its slowest member, and held in memory as a whole.
constexpr std::size_t group_count_max = 128;
constexpr std::size_t group_bytes_max = std::size_t{8} << 20;
// Each refused one costs the others another try; beyond these they are better off alone.
constexpr std::size_t refused_max = 3;

}  // namespace

Result<std::string> Committer::commit(Commission what, Sync sync) {
  Request request{.what = std::move(what), .sync = sync, .attempts = Attempts(patience_)};
  submit(request);
  if (!request.result) commit_alone(request);
  return *std::move(request.result);
}

void Committer::submit(Request& request) {
  std::unique_lock lock(mutex_);
  queue_.push_back(&request);
  changed_.wait(lock,
                [&] { return request.is_done || (!is_under_way_ && queue_.front() == &request); });
  if (request.is_done) return;
  Group group = take_group();
  is_under_way_ = true;
  lock.unlock();
  process(group);
  lock.lock();
  is_under_way_ = false;
  for (Request* member : group) member->is_done = true;
  changed_.notify_all();
}

Committer::Group Committer::take_group() {
  std::size_t bytes = 0;
  std::size_t count = 0;
  auto end = queue_.begin();
  for (; end != queue_.end() && count < group_count_max; ++end, ++count) {
    bytes += (*end)->what.params.bytes();
    if (count > 0 && bytes > group_bytes_max) break;
  }
  Group group;
  group.splice(group.begin(), queue_, queue_.begin(), end);
  return group;
}

void Committer::process(Group& group) try {
  group.sort([](const Request* a, const Request* b) { return a->what.session < b->what.session; });
  commit_together(group);
} catch (const std::exception& error) {
  // No memory, and it is not known what was sent.
  for (Request* request : group) {
    if (!request->result) request->result = fail(ErrorCode::commit_unknown, error.what());
  }
}

void Committer::commit_together(Group& group) {
  for (std::size_t refused = 0; refused <= refused_max && !group.empty(); ++refused) {
    try {
      const auto refusal = send_while_away(group);
      if (!refusal) return;
      Request& one = **refusal->member;
      if (group.size() == 1) one.result = std::unexpected(one.attempts.give_up(refusal->error));
      group.erase(refusal->member);
      set_apart(one);
    } catch (const PgError& error) {
      for (Request* request : group) request->attempts.note(error);
      return;
    }
  }
}

void Committer::set_apart(Request& request) {
  const std::scoped_lock lock(mutex_);
  request.is_done = true;
  changed_.notify_all();
}

// All wait together: nothing can be done for one of them.
std::optional<Committer::Refusal> Committer::send_while_away(const Group& group) {
  for (;;) {
    try {
      return send(group, false);
    } catch (const PgError& error) {
      if (!error.is_away()) throw;
      if (!group.front()->attempts.after(error)) continue;
      for (Request* request : group) {
        request->result = std::unexpected(request->attempts.give_up(error));
      }
      return std::nullopt;
    }
  }
}

void Committer::commit_alone(Request& request) {
  const Group alone{&request};
  while (!request.result) {
    try {
      const auto refusal = send(alone, true);
      if (refusal) request.result = std::unexpected(request.attempts.give_up(refusal->error));
    } catch (const PgError& error) {
      if (auto last = request.attempts.after(error)) request.result = std::unexpected(*last);
    }
  }
}

std::optional<Committer::Refusal> Committer::send(const Group& group, bool is_repeated) {
  const bool is_later =
      std::ranges::all_of(group, [](const Request* one) { return one->sync == Sync::later; });
  std::vector<Statement> statements;
  statements.reserve(group.size());
  for (Request* one : group) {
    one->what.params.set_last(is_repeated, is_later);
    statements.push_back({one->what.sql, &one->what.params});
  }
  const Pool::Loan connection = pool_.borrow(group.front()->attempts.deadline());
  std::vector<Answer> answers = connection->pipeline(statements);
  auto member = group.begin();
  for (const Answer& answer : answers) {
    const auto* error = std::get_if<PgError>(&answer);
    if (error != nullptr && !error->is_undone()) {
      if (error->may_be_repeated()) throw PgError(*error);
      return Refusal{member, *error};
    }
    ++member;
  }
  const auto is_doubtful = [](const Request* r) { return r->attempts.may_have_happened(); };
  if (!is_later && std::ranges::any_of(group, is_doubtful)) connection->await_durability();
  ++transactions_;
  member = group.begin();
  for (Answer& answer : answers) {
    auto& rows = std::get<Rows>(answer);
    rows.next();
    (*member++)->result = rows.string(0);
  }
  return std::nullopt;
}

std::size_t Committer::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace perdure::postgres
