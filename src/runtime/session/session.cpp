// Each method is a draft and its commit.

#include "perdure/runtime/session.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/counters.hpp"
#include "perdure/runtime/difference.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {
namespace {

Result<Position> commit_one(HeldSession& held, NewEntry entry) {
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

bool has_ended(Status status) {
  return status == Status::completed || status == Status::failed || status == Status::cancelled;
}

}  // namespace

Session::Session(std::unique_ptr<HeldSession> held) : held_(std::move(held)) {}
Session::~Session() = default;
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept = default;

const SessionId& Session::id() const { return held_->lease().session; }
const Lease& Session::lease() const { return held_->lease(); }
const State& Session::state() const { return held_->state(); }
Status Session::status() const { return held_->status(); }

Result<Position> Session::append(Message message) {
  const auto& world = held_->world();
  if (message.id.empty()) message.id = mint<MessageTag>(world.ids).text();
  if (message.created_at == Timestamp{}) message.created_at = world.clock.now();
  return commit_one(*held_, appending("transcript", "message", to_json(message)));
}

Result<Position> Session::append(const std::string& channel, Body body) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  return commit_one(*held_, {.channel = channel, .kind = "item", .body = std::move(body)});
}

Result<Position> Session::set(const std::string& channel, Body body) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  return commit_one(
      *held_,
      {.channel = channel, .kind = "value", .fold = Fold::replace, .body = std::move(body)});
}

Result<Position> Session::set(const Setup& setup) {
  return commit_one(*held_, replacing("setup", "setup", to_json(setup)));
}

Result<Position> Session::set(const Plan& plan) {
  return commit_one(*held_, replacing("plan", "plan", to_json(plan)));
}

Result<std::int64_t> Session::count(const std::string& counter, std::int64_t by) {
  Counters counters = state().counters;
  auto number = add(counters, counter, by);
  if (!number) return number;
  auto position = commit_one(*held_, replacing("counters", "counters", to_json(counters)));
  if (!position) return forward(position);
  return number;
}

Result<Version> Session::checkpoint(const NewCheckpoint& note) {
  Draft draft = held_->draft();
  draft.batch.checkpoint = note;
  auto receipt = held_->commit(std::move(draft));
  if (!receipt) return forward(receipt);
  return *receipt->version;
}

Result<void> Session::set_status(const StatusChange& change) {
  if (has_ended(status()) && change.status != status()) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}: reopen it first", to_string(status())));
  }
  Draft draft = held_->draft();
  draft.batch.status = change;
  if (auto receipt = held_->commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<void> Session::reopen(const std::string& who, const std::string& why) {
  if (!has_ended(status())) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}: there is nothing to reopen", to_string(status())));
  }
  Draft draft = held_->draft();
  draft.add(appending("inbox", "reopen", Json(Json::Object{{"who", who}, {"why", why}}).text()));
  draft.batch.status = StatusChange{.status = Status::active};
  if (auto receipt = held_->commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<void> Session::annotate(const Annotation& part) {
  auto row = held_->world().store.sessions().annotate(id(), part);
  if (!row) return forward(row);
  return {};
}

Result<State> Session::state_at(Point point) const {
  return read_state(held_->world().store, id(), point);
}

Result<std::vector<Checkpoint>> Session::versions(const CheckpointQuery& query) const {
  return held_->world().store.log().checkpoints(id(), query);
}

Result<Difference> Session::diff(Point from, Point to) const {
  auto before = state_at(from);
  if (!before) return forward(before);
  auto after = state_at(to);
  if (!after) return forward(after);
  return perdure::diff(*before, *after);
}

Result<void> Session::rewind(Point point) {
  if (!state().open_calls.empty()) {
    return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
                call_name(id(), state().open_calls.begin()->first));
  }
  Draft draft = held_->draft();
  draft.batch.branch_from = point;
  if (auto receipt = held_->commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace perdure
