// What a lost reply does: it is not known if any of the group happened, so each is sent again, alone,
// and the server finds by its batch id whether it happened. Alone, because it may be one of them that
// brings the server down or waits for a lock longer than the others' patience; and by its own thread, so
// that the others, and those who queue, need not wait for it.

#include "postgres/client/committer.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ownership.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/pool.hpp"

namespace perdure::postgres {
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
