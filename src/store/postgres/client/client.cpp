// Where repetition begins and ends (error.hpp).

#include "postgres/client/client.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <iterator>
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
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

namespace {

// A wait for a lock is cut into pieces: others of the same group continue after the first one.
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
// Fewer commits than these are not worth a second transaction beside the first.
constexpr std::size_t second_min = 8;

constexpr std::uint8_t refused = 2;
constexpr std::size_t sqlstate_bytes = 5;
constexpr std::string_view commit_sql = "SELECT perdure.commit($1, $2, $3)";
constexpr std::string_view commit_each_sql = "SELECT perdure.commit_each($1, $2, $3)";

}  // namespace

std::string_view AnswerReader::take(std::size_t count) {
  const std::string_view part = bytes_.substr(0, count);
  bytes_.remove_prefix(part.size());
  return part;
}

std::uint64_t AnswerReader::number() {
  std::uint64_t number = 0;
  for (const char byte : take(sizeof number)) {
    number = number << 8 | static_cast<std::uint8_t>(byte);
  }
  return number;
}

Digest AnswerReader::digest() {
  Digest digest{};
  std::ranges::copy(take(digest.size()), digest.begin());
  return digest;
}

Result<std::string> Committer::commit(Commission what, Sync sync) {
  Request request{.what = std::move(what), .sync = sync, .attempts = Attempts(patience_)};
  submit(request);
  if (!request.result) commit_alone(request);
  return *std::move(request.result);
}

void Committer::submit(Request& request) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(&request);
    call_leader();
  }
  if (request.turn.wait() == Turn::Call::done) return;
  std::unique_lock lock(mutex_);
  Group group = take_group();
  const std::size_t size = group.size();
  has_leader_ = false;
  ++groups_;
  under_way_ += size;
  call_leader();
  lock.unlock();
  process(group);
  lock.lock();
  --groups_;
  under_way_ -= size;
  call_leader();
  lock.unlock();
  for (Request* member : group) {
    if (member != &request) member->turn.call(Turn::Call::done);
  }
}

void Committer::call_leader() {
  if (has_leader_ || queue_.empty() || groups_ == groups_max_) return;
  if (groups_ > 0 && queue_.size() < std::max(under_way_, second_min)) return;
  has_leader_ = true;
  queue_.front()->turn.call(Turn::Call::lead);
}

Committer::Group Committer::take_group() {
  const std::size_t all = queue_.size() + under_way_;
  const bool is_shared = groups_max_ > 1 && all >= 2 * second_min;
  const std::size_t count_max =
      is_shared ? std::min((all + 1) / 2, group_count_max) : group_count_max;
  std::size_t bytes = 0;
  std::size_t count = 0;
  auto end = queue_.begin();
  for (; end != queue_.end() && count < count_max; ++end, ++count) {
    bytes += (*end)->what.batch.size();
    if (count > 0 && bytes > group_bytes_max) break;
  }
  Group group;
  group.splice(group.begin(), queue_, queue_.begin(), end);
  return group;
}

void Committer::process(Group& group) {
  const auto session_of = [](const Request* request) { return request->what.session; };
  group.sort([&](const Request* a, const Request* b) { return session_of(a) < session_of(b); });
  Group apart;
  for (auto one = std::next(group.begin()); one != group.end();) {
    const auto next = std::next(one);
    if (session_of(*one) == session_of(*std::prev(one))) apart.splice(apart.end(), group, one);
    one = next;
  }
  commit_together(group);
  group.splice(group.end(), apart);
}

void Committer::commit_together(const Group& group) try {
  try {
    send_while_away(group, commit_sql);
  } catch (const PgError& error) {
    if (error.may_be_repeated() || group.size() == 1) throw;
    send_while_away(group, commit_each_sql);
  }
} catch (const PgError& error) {
  for (Request* request : group) {
    request->attempts.note(error);
    if (error.may_be_repeated()) continue;
    request->result = std::unexpected(request->attempts.give_up(error));
  }
} catch (const std::exception& error) {
  // No memory, and it is not known what was sent.
  for (Request* request : group) {
    if (!request->result) request->result = fail(ErrorCode::commit_unknown, error.what());
  }
}

// All wait together: nothing can be done for one of them.
void Committer::send_while_away(const Group& group, std::string_view sql) {
  for (;;) {
    try {
      return send(group, sql, false);
    } catch (const PgError& error) {
      if (!error.is_away()) throw;
      if (!group.front()->attempts.after(error)) continue;
      for (Request* request : group) {
        request->result = std::unexpected(request->attempts.give_up(error));
      }
      return;
    }
  }
}

void Committer::commit_alone(Request& request) {
  while (!request.result) {
    try {
      send({&request}, commit_sql, true);
    } catch (const PgError& error) {
      if (auto last = request.attempts.after(error)) request.result = std::unexpected(*last);
    }
  }
}

void Committer::send(const Group& group, std::string_view sql, bool is_repeated) {
  const bool is_later =
      std::ranges::all_of(group, [](const Request* one) { return one->sync == Sync::later; });
  std::vector<std::int64_t> examined;
  std::vector<std::string_view> batches;
  for (const Request* one : group) {
    batches.emplace_back(one->what.batch);
    if (is_repeated || one->what.is_examined) {
      examined.push_back(static_cast<std::int64_t>(batches.size()));
    }
  }
  const std::string joined = batches.size() > 1 ? joined_arrays(batches) : std::string();
  Params params = Params::of(!is_later, examined);
  params.add_records(batches.size() > 1 ? std::string_view(joined) : batches.front());
  const Pool::Loan connection = pool_.borrow(group.front()->attempts.deadline());
  Rows rows = connection->query(sql, params);
  const auto is_doubtful = [](const Request* r) { return r->attempts.may_have_happened(); };
  if (!is_later && std::ranges::any_of(group, is_doubtful)) connection->await_durability();
  ++transactions_;
  rows.next();
  const std::vector<std::string_view> answers = rows.array(0);
  auto answer = answers.begin();
  for (Request* request : group) {
    deliver(*request, *answer++);
  }
}

// One that was refused for now, because of others, is to be sent alone.
void Committer::deliver(Request& request, std::string_view answer) {
  AnswerReader reader(answer);
  if (reader.byte() != refused) {
    request.result = std::string(answer);
    return;
  }
  PgError::Words words{.sqlstate = std::string(reader.take(sqlstate_bytes))};
  words.message = reader.take(reader.number());
  words.subject = reader.rest();
  const PgError error(std::move(words));
  if (!error.may_be_repeated()) request.result = std::unexpected(request.attempts.give_up(error));
}

std::size_t Committer::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace perdure::postgres
