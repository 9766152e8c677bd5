// What a lost reply does: nobody of the group knows, so each is sent again, alone, and the server
// finds by its batch id whether it happened. Alone, because it may be one of them that brings the
// server down or waits for a lock longer than anybody's patience; and by its own thread, so that the
// others, and those who queue, need not wait for it.

#include "postgres/committer.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <expected>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/commit.hpp"
#include "postgres/attempts.hpp"
#include "postgres/connection.hpp"
#include "postgres/error.hpp"
#include "postgres/params.hpp"
#include "postgres/pool.hpp"
#include "postgres/rows.hpp"

namespace perdure::postgres {
namespace {

// A group is held up by its slowest member, and held in memory as a whole.
constexpr std::size_t group_count_max = 128;
constexpr std::size_t group_bytes_max = std::size_t{8} << 20;
// Fewer commits than these are not worth a second transaction beside the first.
constexpr std::size_t second_min = 8;
// Each refused one costs the others another try; beyond these they are better off alone.
constexpr std::size_t refused_max = 3;

}  // namespace

Result<Rows> Committer::commit(const SessionId& session, std::string_view sql, Params params,
                               Sync sync) {
  params.add(false);
  Request request{.session = session,
                  .sql = sql,
                  .params = std::move(params),
                  .sync = sync,
                  .attempts = Attempts(patience_)};
  submit(request);
  if (!request.result) commit_alone(request);
  return *std::move(request.result);
}

void Committer::submit(Request& request) {
  std::unique_lock lock(mutex_);
  queue_.push_back(&request);
  wake_leader();
  request.ready.wait(
      lock, [&] { return request.is_answered || (may_lead() && queue_.front() == &request); });
  if (request.is_answered) return;

  const Group group = take_group();
  ++groups_;
  under_way_ += group.size();
  wake_leader();
  lock.unlock();
  process(group);
  lock.lock();
  for (Request* member : group) {
    member->is_answered = true;
    member->ready.notify_one();
  }
  --groups_;
  under_way_ -= group.size();
  wake_leader();
}

bool Committer::may_lead() const {
  if (groups_ == 0) return true;
  return groups_ < groups_max_ && queue_.size() >= std::max(under_way_, second_min);
}

void Committer::wake_leader() {
  if (!queue_.empty() && may_lead()) queue_.front()->ready.notify_one();
}

Committer::Group Committer::take_group() {
  const std::size_t all = queue_.size() + under_way_;
  const bool is_shared = groups_max_ > 1 && all >= 2 * second_min;
  const std::size_t count_max =
      is_shared ? std::min((all + 1) / 2, group_count_max) : group_count_max;
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const Request* request : queue_) {
    bytes += request->params.bytes();
    if (count > 0 && (bytes > group_bytes_max || count == count_max)) break;
    ++count;
  }
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  // No memory for those who stay: then nobody does. It is only a larger group.
  Group rest;
  try {
    rest.assign(end, queue_.end());
  } catch (const std::bad_alloc&) {
    return std::exchange(queue_, {});
  }
  queue_.erase(end, queue_.end());
  return std::exchange(queue_, std::move(rest));
}

void Committer::process(const Group& all) try {
  Group group = all;
  std::ranges::sort(group, {}, [](const Request* r) -> const auto& { return r->session; });
  commit_together(std::move(group));
} catch (const std::exception& error) {
  // No memory, and nobody knows what was sent.
  for (Request* request : all) {
    if (!request->result) request->result = fail(ErrorCode::commit_unknown, error.what());
  }
}

void Committer::commit_together(Group group) {
  for (std::size_t refused = 0; refused <= refused_max && !group.empty(); ++refused) {
    try {
      const auto refusal = send_while_away(group);
      if (!refusal) return;
      const auto member = group.begin() + static_cast<std::ptrdiff_t>(refusal->index);
      if (group.size() == 1) {
        (*member)->result = std::unexpected((*member)->attempts.give_up(refusal->error));
      }
      group.erase(member);
    } catch (const PgError& error) {
      for (Request* request : group) request->attempts.note(error);
      return;
    }
  }
}

// All wait together: nobody is there who could do anything for one of them.
std::optional<Committer::Refusal> Committer::send_while_away(const Group& group) {
  for (;;) {
    try {
      return send(group);
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
  Request* const one = &request;
  while (!request.result) {
    try {
      const auto refusal = send({&one, 1});
      if (refusal) request.result = std::unexpected(request.attempts.give_up(refusal->error));
    } catch (const PgError& error) {
      if (auto last = request.attempts.after(error)) request.result = std::unexpected(*last);
    }
  }
}

std::optional<Committer::Refusal> Committer::send(std::span<Request* const> group) {
  const bool later =
      std::ranges::all_of(group, [](const Request* r) { return r->sync == Sync::later; });
  std::vector<Statement> statements;
  statements.reserve(group.size());
  for (Request* request : group) {
    request->params.set_last(later);
    statements.push_back({request->sql, &request->params});
  }
  const Pool::Loan connection = pool_.borrow(group.front()->attempts.deadline());
  std::vector<Answer> answers = connection->pipeline(statements);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* error = std::get_if<PgError>(&answers[i]);
    if (error == nullptr || error->is_undone()) continue;
    if (error->may_be_repeated()) throw PgError(*error);
    return Refusal{i, *error};
  }
  const auto is_doubtful = [](const Request* r) { return r->attempts.may_have_happened(); };
  if (!later && std::ranges::any_of(group, is_doubtful)) connection->await_durability();
  ++transactions_;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    group[i]->result = std::get<Rows>(std::move(answers[i]));
  }
  return std::nullopt;
}

std::size_t Committer::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace perdure::postgres
