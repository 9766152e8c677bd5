// Commit, then fold: the state never runs ahead of the log.

#include "writer/session_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit_surely.hpp"
#include "state/read_log.hpp"
#include "writer/draft.hpp"

namespace perdure {
namespace {

Entry as_committed(NewEntry&& entry, Position position, Timestamp at) {
  return {.position = position,
          .channel = std::move(entry.channel),
          .kind = std::move(entry.kind),
          .fold = entry.fold,
          .body = std::move(entry.body),
          .tally = entry.tally,
          .at = entry.at.value_or(at)};
}

std::unexpected<Error> lost() {
  return fail(ErrorCode::lease_lost, "another worker has taken this session over");
}

bool is_large(const NewEntry& entry) {
  return entry.body.codec() != Codec::blob && entry.body.bytes().size() > inline_bytes_max;
}

}  // namespace

void complete(Message& message, const SessionWriter& writer) {
  if (message.id.empty()) message.id = mint<MessageTag>(writer.deps().ids).text();
  if (message.created_at == Timestamp{}) message.created_at = writer.deps().clock.now();
}

SessionWriter::~SessionWriter() {
  // Where this fails, the worker's end frees it.
  [[maybe_unused]] const auto released = release();
}

Result<void> SessionWriter::release() {
  if (is_released_) return {};
  is_released_ = true;
  auto released = deps_.store.ownership().release(lease_);
  place_.reset();
  return released;
}

const std::string& SessionWriter::nonce() {
  if (nonce_.empty()) nonce_ = to_base32(deps_.ids.next());
  return nonce_;
}

bool SessionWriter::has_ended() const { return perdure::has_ended(status_); }

Result<void> SessionWriter::check_goes_on() const {
  if (!has_ended() && status_ != Status::paused) return {};
  return fail(ErrorCode::conflict,
              fmt::format("the session is {}: {}", to_string(status_),
                          has_ended() ? "reopen it first" : "set it to active first"));
}

Result<void> SessionWriter::check_may_act() {
  if (auto here = process_.check(); !here) return here;
  if (is_released_) return fail(ErrorCode::lease_lost, "this session was closed here");
  if (is_lost_) return lost();
  if (!deps_.worker.may_act()) {
    return fail(ErrorCode::lease_lost, "the lease could not be renewed in time");
  }
  if (!stop_.stop_requested()) return {};
  if (auto row = read_as_owner(); !row) return forward(row);
  return {};
}

Result<SessionSummary> SessionWriter::read_as_owner() {
  const std::stop_token before = deps_.worker.stop_token();
  auto row = deps_.store.sessions().read(lease_.session);
  if (!row) return row;
  // Fences begin again where the session was deleted and its id is used by another one.
  is_lost_ =
      !row->holder || row->holder->worker != lease_.worker || row->holder->fence != lease_.fence;
  if (is_lost_) return lost();
  stop_ = before;
  return row;
}

Result<void> SessionWriter::load() {
  auto row = read_as_owner();
  if (!row) return forward(row);
  head_ = row->head;
  next_ = row->next;
  if (first_ == 0) first_ = row->next;
  status_ = row->status;
  wait_reason_ = row->wait_reason;
  is_restored_ = row->restored;
  const bool is_fork = row->parent && row->parent->lineage == Lineage::fork;
  inherited_ = is_fork ? row->parent->position : 0;
  auto state = read_state(deps_.store, lease_.session, at_position(row->head));
  if (!state) {
    return std::unexpected(
        missing_head(deps_.store, lease_.session, row->head, std::move(state).error()));
  }
  state_ = *std::move(state);
  return find_last_name(row->created_at);
}

std::int64_t SessionWriter::turns_since_named() const { return state_.totals.turns - named_turns_; }

// Only a cadence that counts needs to know what earlier owners named.
Result<void> SessionWriter::find_last_name(Timestamp created_at) {
  if (deps_.policy.cadence.at != Cadence::At::period) return {};
  auto latest = deps_.store.log().checkpoints(lease_.session, {.limit = 1});
  if (!latest) return forward(latest);
  named_at_ = latest->empty() ? created_at : latest->front().at;
  const std::int64_t turns = latest->empty() ? 0 : latest->front().tally.turns;
  named_turns_ = std::min(turns, state_.totals.turns);  // It may be on a line that was left.
  return {};
}

Result<Receipt> SessionWriter::begin(const NewSession& session, Draft draft, State inherited) {
  state_ = std::move(inherited);
  head_ = state_.head;
  next_ = head_ + 1;
  first_ = next_;
  inherited_ = head_;
  status_ = session.status;
  wait_reason_ = session.wait_reason;
  unborn_ = session;
  auto receipt = commit(std::move(draft));
  // Under that id there may be another session, and this worker may own it.
  if (!receipt && receipt.error().code != ErrorCode::commit_unknown) is_released_ = true;
  return receipt;
}

Result<Receipt> SessionWriter::commit(Draft draft) {
  if (is_released_) return fail(ErrorCode::lease_lost, "this session was closed here");
  if (is_lost_) return lost();
  // The draft was put together without knowing whether it goes on from that one.
  if (unknown_) return fail(ErrorCode::commit_unknown, "an earlier commit is not known yet");
  if (draft.next_request) {
    Budget budget = budget_after(state_.budget, draft);
    // Without it the request is recorded when it is made, which costs a sync of its own.
    [[maybe_unused]] const auto added =
        add_request(draft, deps_.ids, budget, *std::move(draft.next_request));
  }
  Batch& batch = draft.batch;
  batch.id = mint<BatchTag>(deps_.ids);
  batch.expected_head = head_;
  fit_rows(batch);
  if (draft.reason.who.empty()) draft.reason.who = lease_.worker.text();
  note_status(batch,
              {.status = status_,
               .wait_reason = wait_reason_,
               .in_log = status_in(state_),
               .restored = is_restored_,
               .has_open_calls = !state_.open_calls.empty()},
              std::move(draft.reason));
  auto receipt = std::ranges::any_of(batch.entries, is_large) ? commit_with_blobs(batch)
                                                              : commit_in_order(batch);
  if (!receipt) return receipt;
  if (auto taken = take_in(std::move(batch), *receipt); !taken) return forward(taken);
  return receipt;
}

// The fold needs the bytes themselves, the store their name.
Result<Receipt> SessionWriter::commit_with_blobs(const Batch& batch) {
  Batch stored = batch;
  for (NewEntry& entry : stored.entries) {
    if (!is_large(entry)) continue;
    auto ref = deps_.store.blobs().put(entry.body.bytes());
    if (!ref) return forward(ref);
    entry.body = Body::from_blob(*ref);
  }
  return commit_in_order(stored);
}

// A server may have died since, and come up without what was to be synced later, while this process
// lives and has gone on from there. Nobody else could write, so the same batches fit again.
Result<Receipt> SessionWriter::commit_in_order(const Batch& batch) {
  auto receipt = send_surely(batch);
  if (!receipt && receipt.error().code == ErrorCode::conflict && !unsynced_.empty()) {
    if (auto repeated = repeat_unsynced(); !repeated) return forward(repeated);
    receipt = send_surely(batch);
  }
  if (!receipt) return receipt;
  if (batch.sync == Sync::later) {
    unsynced_.push_back(batch);
  } else {
    unsynced_.clear();
  }
  return receipt;
}

Result<void> SessionWriter::repeat_unsynced() {
  const std::stop_token before = stop_;
  for (const Batch& batch : unsynced_) {
    if (auto receipt = send_surely(batch); !receipt) return forward(receipt);
  }
  stop_ = before;  // They may have been there: that says nothing of now.
  return {};
}

Result<Receipt> SessionWriter::send(const Batch& batch) {
  if (!unborn_) return deps_.store.commit(lease_, batch);
  auto created = deps_.store.create(*unborn_, lease_.worker, batch);
  if (!created) return forward(created);
  unborn_.reset();
  return std::move(created->receipt);
}

Result<Receipt> SessionWriter::send_surely(const Batch& batch) {
  const std::stop_token before = deps_.worker.stop_token();
  // A batch that is there already gets its receipt from whoever asks: that says nothing of now.
  bool is_new = !unknown_;
  auto receipt = surely([&] {
    auto sent = send(batch);
    if (!sent) {
      is_new = false;
      loss_token_.clear();
    }
    return sent;
  });
  if (receipt) {
    if (is_new) stop_ = before;
    return receipt;
  }
  if (receipt.error().code == ErrorCode::lease_lost) is_lost_ = true;
  if (receipt.error().code == ErrorCode::commit_unknown) unknown_ = batch;
  return receipt;
}

const std::string& SessionWriter::loss_token() {
  if (loss_token_.empty()) loss_token_ = deps_.store.loss_token().value_or("");
  return loss_token_;
}

// Only a clear answer ends the question.
Result<void> SessionWriter::settle_unknown_commit() {
  if (auto here = process_.check(); !here) return here;
  if (!unknown_) return take_up_restored();
  const Batch batch = *unknown_;
  auto receipt = commit_in_order(batch);
  if (!receipt) {
    const ErrorCode code = receipt.error().code;
    const bool is_refused = code == ErrorCode::conflict || code == ErrorCode::invalid_argument;
    if (is_refused) unknown_.reset();
    return forward(receipt);
  }
  if (auto loaded = load(); !loaded) return loaded;
  unknown_.reset();
  return take_up_restored();
}

// Before anything else is written: what is decided from here on counts.
Result<void> SessionWriter::take_up_restored() {
  if (!is_restored_) return {};
  Draft taken = draft();
  taken.stand({.status = status_, .wait_reason = wait_reason_});
  if (auto receipt = commit(std::move(taken)); !receipt) return forward(receipt);
  return {};
}

Result<void> SessionWriter::take_in(Batch batch, const Receipt& receipt) {
  if (batch.status) {
    status_ = batch.status->status;
    wait_reason_ = batch.status->wait_reason;
    is_restored_ = false;
  }
  if (batch.branch_from) {
    auto loaded = load();
    if (!loaded) unknown_ = std::move(batch);
    return loaded;
  }
  Position position = receipt.first;
  for (NewEntry& entry : batch.entries) {
    fold(state_, as_committed(std::move(entry), position++, receipt.at));
  }
  head_ = receipt.head;
  next_ = std::max(next_, position);
  if (receipt.version) {
    named_at_ = receipt.at;
    named_turns_ = state_.totals.turns;
  }
  return {};
}

}  // namespace perdure
