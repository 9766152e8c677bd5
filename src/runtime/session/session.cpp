// Each method is a draft and its commit.

#include "perdure/runtime/session.hpp"

#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/carried.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/own_process.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/status_entry.hpp"
#include "session/children.hpp"
#include "session/decide_calls.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/open_request.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

Result<Position> commit_one(HeldSession& held, NewEntry entry) {
  if (auto known = held.find_out(); !known) return forward(known);
  Draft draft = held.draft();
  const Position position = draft.add(std::move(entry));
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return position;
}

Result<void> check_is_users(const std::string& channel) {
  if (!is_reserved(channel)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("channel {} is the runtime's own: take another name", channel));
}

std::unexpected<Error> refuse_reopening(Status status) {
  return fail(ErrorCode::conflict,
              fmt::format("the session is {}: reopen it first", to_string(status)));
}

// Grants that are out and stay out: those of the point may come back there, and no other.
std::int64_t granted_after(const Budget& there, const Budget& now) {
  std::int64_t granted = now.totals.granted;
  for (const auto& [child, micros] : now.grants) {
    if (there.grants.contains(child)) granted -= micros;
  }
  for (const auto& [child, micros] : there.grants) granted += micros;
  return granted;
}

// What was spent on the line that is left stays spent, and what is not known of it unconfirmed.
std::optional<BudgetEntry> carried_over(const Budget& there, const Budget& now) {
  BudgetTotals after = there.totals;
  after.limit = now.totals.limit;
  after.spent = now.totals.spent;
  after.granted = granted_after(there, now);
  after.unconfirmed = now.totals.unconfirmed + now.totals.reserved;
  if (after == there.totals) return std::nullopt;
  return BudgetEntry{.change = BudgetChange::spend,
                     .micros = 0,
                     .what = "spent on a line that was left",
                     .after = after};
}

}  // namespace

Session::Session(std::unique_ptr<SessionParts> parts) : parts_(of_own_process(std::move(parts))) {}
Session::~Session() = default;
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;

const SessionId& Session::id() const { return parts_->held.lease().session; }
const Lease& Session::lease() const { return parts_->held.lease(); }
const State& Session::state() const { return parts_->held.state(); }
Status Session::status() const { return parts_->held.status(); }

Result<Position> Session::append(Message message) {
  complete(message, parts_->held);
  return commit_one(parts_->held, appending("transcript", "message", to_json(message)));
}

Result<Position> Session::append(const std::string& channel, Body body) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  return commit_one(parts_->held, {.channel = channel, .kind = "item", .body = std::move(body)});
}

Result<Position> Session::set(const std::string& channel, Body body,
                              const std::optional<StatusChange>& stands) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  if (stands && has_ended(stands->status)) {
    return fail(ErrorCode::invalid_argument, "to end a session, set its status alone");
  }
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  if (stands && parts_->held.has_ended()) return refuse_reopening(status());
  Draft draft = parts_->held.draft();
  const Position position = draft.add(
      {.channel = channel, .kind = "value", .fold = Fold::replace, .body = std::move(body)});
  if (stands) draft.stand(*stands);
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return position;
}

Result<Position> Session::set(const Setup& setup) {
  return commit_one(parts_->held, replacing("setup", "setup", to_json(setup)));
}

Result<Position> Session::set(const Plan& plan) {
  return commit_one(parts_->held, replacing("plan", "plan", to_json(plan)));
}

Result<void> Session::set_agent(const AgentChange& change, const Setup& setup) {
  if (auto known = parts_->held.find_out(); !known) return known;
  Draft draft = parts_->held.draft();
  draft.add(appending("origin", "agent", to_json(change)));
  // Whose it is now stands in one entry, and is found without the log before it.
  Origin origin = state().origin.value_or(Origin{});
  origin.agent_digest = change.agent_digest;
  draft.add(replacing("origin", "origin", to_json(origin)));
  draft.add(replacing("setup", "setup", to_json(setup)));
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<std::int64_t> Session::count(const std::string& counter, std::int64_t by) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  Counters counters = state().counters;
  auto number = add(counters, counter, by);
  if (!number) return number;
  auto position = commit_one(parts_->held, replacing("counters", "counters", to_json(counters)));
  if (!position) return forward(position);
  return number;
}

Result<Version> Session::checkpoint(const NewCheckpoint& note) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  Draft draft = parts_->held.draft();
  draft.batch.checkpoint = note;
  auto receipt = parts_->held.commit(std::move(draft));
  if (!receipt) return forward(receipt);
  return *receipt->version;
}

Result<void> Session::set_status(const StatusChange& change, const std::string& who,
                                 const std::string& why) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  if (parts_->held.has_ended() && change.status != status()) return refuse_reopening(status());
  if (change.status == Status::completed || change.status == Status::failed) {
    if (auto settled = check_all_settled(parts_->held); !settled) return settled;
  }
  Draft draft = parts_->held.draft();
  draft.stand(change, {.who = who, .why = why});
  if (change.status == Status::cancelled) {
    auto cancelled = parts_->dispatcher.cancel_unbegun(draft, of_cancelled_session);
    if (!cancelled) return forward(cancelled);
  }
  if (parts_->parent && has_ended(change.status) && !parts_->held.has_ended()) {
    Budget budget = state().budget;
    auto added = add_end(*parts_, draft, budget, {.change = change, .result = change.wait_reason});
    if (!added) return added;
  }
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return tell_parent(*parts_);
}

Result<void> Session::reopen(const std::string& who, const std::string& why) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  if (!parts_->held.has_ended()) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}: there is nothing to reopen", to_string(status())));
  }
  Draft draft = parts_->held.draft();
  draft.stand({.status = Status::active}, {.who = who, .why = why});
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<void> Session::annotate(const Annotation& part) {
  auto row = parts_->held.world().store.sessions().annotate(id(), part);
  if (!row) return forward(row);
  return {};
}

Result<State> Session::state_at(Point point) const {
  return read_state(parts_->held.world().store, id(), point);
}

Result<std::vector<Checkpoint>> Session::versions(const CheckpointQuery& query) const {
  return parts_->held.world().store.log().checkpoints(id(), query);
}

Result<Difference> Session::diff(Point from, Point to) const {
  auto before = state_at(from);
  if (!before) return forward(before);
  auto after = state_at(to);
  if (!after) return forward(after);
  return perdure::diff(*before, *after);
}

// In a child the threads of attempts are not there to be waited for.
Result<void> Session::close(std::optional<Duration> patience) {
  if (auto here = parts_.get_deleter().process.check(); !here) return here;
  if (!parts_->dispatcher.end(patience)) {
    const auto running = parts_->dispatcher.running();
    return fail(ErrorCode::unavailable,
                running.empty()
                    ? "a verify did not stop: the session stays held; close it again later"
                    : fmt::format("{} not stop: the session stays held; close it again later",
                                  running.size() == 1
                                      ? fmt::format("call {} did", running.front())
                                      : fmt::format("calls {} did", fmt::join(running, ", "))));
  }
  return parts_->held.release();
}

Result<void> Session::rewind(Point point) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  if (auto settled = check_all_settled(parts_->held); !settled) return settled;
  Store& store = parts_->held.world().store;
  auto there = dispatch::read_own_step(store, id(), point);
  if (!there) return forward(there);
  Draft draft = parts_->held.draft();
  draft.batch.branch_from = there->head == 0 ? point : Point::position(there->head);
  // What it came to is on the line that is left, and so is what it cost.
  if (there->request) {
    auto ended = add_end_of_request(draft, there->request->request, there->budget,
                                    {.why = "the session went back"});
    if (!ended) return ended;
  }
  if (const auto kept = carried_over(there->budget, state().budget)) {
    draft.add(appending("budget", std::string(to_string(kept->change)), to_json(*kept)));
  }
  // Going back changes what was said, not the session's status.
  if (parts_->held.status_in(*there) != status()) {
    draft.add(
        status_entry({.status = status(),
                      .who = lease().worker.text(),
                      .why = fmt::format("as before the session went back to {}", there->head)}));
  }
  if (auto carried = dispatch::carry_back(parts_->held, draft, *there); !carried) return carried;
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace perdure
