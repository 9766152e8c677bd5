// One group on its way, then the queue.

#include "postgres/client/committer.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>
#include <expected>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ownership.hpp"
#include "postgres/client/attempts.hpp"
#include "postgres/client/commission.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/pool.hpp"
#include "postgres/client/rows.hpp"

namespace perdure::postgres {

// Each in turn takes along all that go with it. Where the server's clock gives the time, as it does but
// in tests, those are all the plain ones.

namespace {

using Places = std::vector<std::size_t>;

/// "0 7 12"
Places read_places(std::string_view text) {
  Places places;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::size_t place = 0;
  for (;;) {
    const auto [next, error] = std::from_chars(at, end, place);
    if (error != std::errc()) return places;
    places.push_back(place);
    if (next == end) return places;
    at = next + 1;
  }
}

}  // namespace

Shipment::Shipment(std::span<CommitRequest* const> group, bool is_repeated)
    : group_(group),
      is_later_(
          std::ranges::all_of(group, [](const auto* one) { return one->sync == Sync::later; })) {
  Places rest(group.size());
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  while (!rest.empty()) {
    const Commission& first = group[rest.front()]->what;
    const auto stay = std::stable_partition(
        rest.begin(), rest.end(), [&](std::size_t i) { return first.goes_with(group[i]->what); });
    const auto end = stay == rest.begin() ? rest.begin() + 1 : stay;
    add(Places(rest.begin(), end), is_repeated);
    rest.erase(rest.begin(), end);
  }
}

void Shipment::add(Places members, bool is_repeated) {
  const Commission& first = group_[members.front()]->what;
  std::vector<const Commission*> all;
  all.reserve(members.size());
  for (const std::size_t place : members) all.push_back(&group_[place]->what);
  Part part{.sent = all.size() == 1 ? first.alone(is_repeated) : first.together(all),
            .members = std::move(members)};
  part.sent.params.add(is_later_);
  parts_.push_back(std::move(part));
}

std::vector<Statement> Shipment::statements() const {
  std::vector<Statement> statements;
  statements.reserve(parts_.size());
  for (const Part& part : parts_) statements.push_back({part.sent.sql, &part.sent.params});
  return statements;
}

Places Shipment::refused(std::size_t statement, const PgError& error) const {
  const Places& members = parts_[statement].members;
  if (error.sqlstate() != "PD010") return members;
  Places refused;
  for (const std::size_t place : read_places(error.subject())) {
    if (place < members.size()) refused.push_back(members[place]);
  }
  return refused.empty() ? members : refused;
}

void Shipment::deliver(std::vector<Answer> answers) const {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Places& members = parts_[i].members;
    Rows rows = std::get<Rows>(std::move(answers[i]));
    rows.next();
    const std::string_view all = rows.text(0);
    const std::size_t each = all.size() / members.size();
    for (std::size_t n = 0; n < members.size(); ++n) {
      group_[members[n]]->result = std::string(all.substr(n * each, each));
    }
  }
}

// What a lost reply does: nobody of the group knows, so each is sent again, alone, and the server
// finds by its batch id whether it happened. Alone, because it may be one of them that brings the
// server down or waits for a lock longer than anybody's patience; and by its own thread, so that the
// others, and those who queue, need not wait for it.

namespace {

// A group is held up by its slowest member, and held in memory as a whole.
constexpr std::size_t group_count_max = 128;
constexpr std::size_t group_bytes_max = std::size_t{8} << 20;
// Fewer commits than these are not worth a second transaction beside the first.
constexpr std::size_t second_min = 8;
// Each refused one costs the others another try; beyond these they are better off alone.
constexpr std::size_t refused_max = 3;

}  // namespace

Result<std::string> Committer::commit(const Commission& what, Sync sync) {
  Request request{.what = what, .sync = sync, .attempts = Attempts(patience_)};
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
  if (request.turn.wait() == QueueWaiter::Call::done) return;

  std::unique_lock lock(mutex_);
  const Group group = take_group();
  is_called_ = false;
  ++groups_;
  under_way_ += group.size();
  call_leader();
  lock.unlock();
  process(group);
  lock.lock();
  --groups_;
  under_way_ -= group.size();
  call_leader();
  lock.unlock();
  for (Request* member : group) {
    if (member != &request) member->turn.call(QueueWaiter::Call::done);
  }
}

void Committer::call_leader() {
  if (is_called_ || queue_.empty()) return;
  if (groups_ > 0 && (groups_ >= groups_max_ || queue_.size() < std::max(under_way_, second_min))) {
    return;
  }
  is_called_ = true;
  queue_.front()->turn.call(QueueWaiter::Call::lead);
}

Committer::Group Committer::take_group() {
  const std::size_t all = queue_.size() + under_way_;
  const bool is_shared = groups_max_ > 1 && all >= 2 * second_min;
  const std::size_t count_max =
      is_shared ? std::min((all + 1) / 2, group_count_max) : group_count_max;
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const Request* request : queue_) {
    bytes += request->what.bytes();
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
  std::ranges::sort(group, {}, [](const Request* r) -> const auto& { return r->what.session(); });
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
      if (group.size() == 1) {
        Request& one = *group.front();
        one.result = std::unexpected(one.attempts.give_up(refusal->error));
      }
      for (const std::size_t member : refusal->members | std::views::reverse) {
        group.erase(group.begin() + static_cast<std::ptrdiff_t>(member));
      }
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
  Request* const one = &request;
  while (!request.result) {
    try {
      const auto refusal = send({&one, 1}, true);
      if (refusal) request.result = std::unexpected(request.attempts.give_up(refusal->error));
    } catch (const PgError& error) {
      if (auto last = request.attempts.after(error)) request.result = std::unexpected(*last);
    }
  }
}

std::optional<Committer::Refusal> Committer::send(std::span<Request* const> group,
                                                  bool is_repeated) {
  const Shipment shipment(group, is_repeated);
  const Pool::Loan connection = pool_.borrow(group.front()->attempts.deadline());
  std::vector<Answer> answers = connection->pipeline(shipment.statements());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* error = std::get_if<PgError>(&answers[i]);
    if (error == nullptr || error->is_undone()) continue;
    if (error->may_be_repeated()) throw PgError(*error);
    return Refusal{shipment.refused(i, *error), *error};
  }
  const auto is_doubtful = [](const Request* r) { return r->attempts.may_have_happened(); };
  if (!shipment.is_later() && std::ranges::any_of(group, is_doubtful)) {
    connection->await_durability();
  }
  ++transactions_;
  shipment.deliver(std::move(answers));
  return std::nullopt;
}

std::size_t Committer::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

}  // namespace perdure::postgres
