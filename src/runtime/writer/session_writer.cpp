// Commit, then fold: the state never runs ahead of the log.
//
// The entries of a change of status go last: what the commit does comes before how it leaves the
// session. Text that does not fit a row is changed where it does not fit, and the rest can be read.

#include "writer/session_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
Status status_in_log(const std::optional<StatusNote>& last, Position inherited) {
  return last && last->position > inherited ? last->status : Status::active;
}

NewEntry status_entry(const StatusNote& note) {
  return {.channel = "status",
          .kind = std::string(status_kind(note.status)),
          .fold = Fold::replace,
          .body = Body::from_text(to_json(note))};
}

void note_status(Batch& batch, const StatusKnown& before, Reason reason) {
  if (!batch.status) return;
  if (before.status != before.in_log) {
    const std::string& words = before.wait_reason;
    batch.entries.push_back(
        status_entry({.status = before.status,
                      .who = "store",
                      .why = words.empty() ? "its row came so into this store" : words}));
  }
  // They were made where the session came from (a bundle, a backup), or before it ended.
  const bool is_reopened = has_ended(before.status) && !has_ended(batch.status->status);
  if (before.restored || (is_reopened && before.has_open_calls)) {
    batch.entries.push_back(
        {.channel = "approvals", .kind = std::string(voided_kind), .body = Body::from_text("{}")});
  }
  const StatusChange& change = *batch.status;
  if (change.status == before.status && change.wait_reason == before.wait_reason) return;
  if (reason.why.empty()) reason.why = change.wait_reason;
  if (reason.why.empty()) reason.why = "no reason was given";
  batch.entries.push_back(status_entry(
      {.status = change.status, .who = std::move(reason.who), .why = std::move(reason.why)}));
}

namespace {

constexpr std::string_view left_out = "…";

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

bool is_of_lines(std::string_view character) {
  return character == "\n" || character == "\r" || character == "\t";
}

}  // namespace

std::string row_text(std::string_view words, std::size_t bytes_max) {
  std::string fitting;
  std::size_t cut_at = 0;  // Where there is room left for the mark.
  while (!words.empty() && fitting.size() <= bytes_max) {
    const std::string_view character = first_character(words);
    const bool fits = !character.empty() && (is_of_lines(character) || !is_control(character));
    fitting += fits ? character : "?";
    words.remove_prefix(std::max<std::size_t>(1, character.size()));
    if (fitting.size() + left_out.size() <= bytes_max) cut_at = fitting.size();
  }
  if (fitting.size() <= bytes_max) return fitting;
  return fitting.substr(0, cut_at).append(left_out);
}

std::string row_name(std::string_view name) {
  std::string fitting = row_text(name, name_bytes_max);
  std::ranges::replace_if(fitting, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, '?');
  if (fitting.starts_with(' ')) fitting.front() = '?';
  if (fitting.ends_with(' ')) fitting.back() = '?';
  return fitting.empty() ? "?" : fitting;
}

void fit_rows(Batch& batch) {
  for (CallChange& change : batch.calls) {
    auto* const settled = std::get_if<Settle>(&change);
    if (settled == nullptr) continue;
    settled->why = row_text(settled->why, text_bytes_max);
    if (!settled->who.empty()) settled->who = row_name(settled->who);
  }
  if (!batch.status) return;
  batch.status->wait_reason = row_text(batch.status->wait_reason, text_bytes_max);
}

Result<void> add_budget_change(Draft& draft, Budget& budget, BudgetEntry wanted) {
  auto entered = enter(budget, std::move(wanted));
  if (!entered) return forward(entered);
  draft.add(entry_of(*entered));
  return {};
}

Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                const RequestEnd& end) {
  if (!request.reservation.empty()) {
    auto entry = add_budget_change(
        draft, budget,
        {.change = end.may_be_paid ? BudgetChange::unconfirmed : BudgetChange::release,
         .subject = request.reservation,
         .what = end.why});
    if (!entry) return entry;
  }
  draft.add(appending("requests", end.may_be_paid ? "lost" : "withdrawn", to_json(request)));
  return {};
}

// The log is read before the store is asked: what could be lost in between was not read either.
Result<bool> is_known_unsent(Store& store, const Request& request) {
  if (!request.is_ahead || request.loss_token.empty()) return false;
  auto now = store.loss_token();
  if (!now) return forward(now);
  return *now == request.loss_token;
}

Budget budget_after(const Budget& now, const Draft& draft) {
  Budget budget = now;
  for (const NewEntry& entry : draft.batch.entries) {
    if (entry.channel != "budget") continue;
    const auto change = budget_entry_from_json(entry.kind, entry.body.bytes());
    if (!change) continue;
    [[maybe_unused]] const auto replayed = replay(budget, *change);
  }
  return budget;
}

std::int64_t reserved_by(const Budget& budget, const std::string& reservation) {
  const auto open = budget.reservations.find(reservation);
  return open == budget.reservations.end() ? 0 : open->second.micros;
}

Result<void> add_request(Draft& draft, IdSource& ids, Budget& budget, NewRequest request) {
  Request& made = request.request;
  if (request.reserve_micros != reserved_by(budget, made.reservation)) {
    if (made.reservation.empty()) made.reservation = mint<BatchTag>(ids).text();
    auto entry = add_budget_change(draft, budget,
                                   {.change = BudgetChange::reserve,
                                    .subject = made.reservation,
                                    .micros = request.reserve_micros,
                                    .what = made.model});
    if (!entry) return entry;
  }
  draft.add(appending("requests", "request", to_json(made)));
  return {};
}

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

Position add_message(Draft& draft, const SessionWriter& writer, Message message) {
  complete(message, writer);
  return draft.add(appending("transcript", "message", to_json(message)));
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
  if (!state) return forward(state);
  state_ = *std::move(state);
  return find_last_name(row->created_at);
}

bool SessionWriter::is_checkpoint_due() const {
  const Cadence& cadence = deps_.policy.cadence;
  if (cadence.at != Cadence::At::period) return true;
  if (state_.totals.turns - named_turns_ + 1 >= cadence.turns) return true;
  return deps_.clock.now() - named_at_ >= cadence.time;
}

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

Result<void> SessionWriter::begin(const NewSession& session, Draft draft, State inherited) {
  state_ = std::move(inherited);
  head_ = state_.head;
  next_ = head_ + 1;
  first_ = next_;
  inherited_ = head_;
  status_ = session.status;
  wait_reason_ = session.wait_reason;
  unborn_ = session;
  auto begun = commit(std::move(draft));
  // Under that id there may be another session, and this worker may own it.
  if (!begun && begun.error().code != ErrorCode::commit_unknown) is_released_ = true;
  return begun;
}

Result<void> SessionWriter::commit(Draft draft) {
  if (is_released_) return fail(ErrorCode::lease_lost, "this session was closed here");
  if (is_lost_) return lost();
  // The draft was put together without knowing whether it continues that one.
  if (unknown_) return fail(ErrorCode::commit_unknown, "an earlier commit is not known yet");
  if (!unborn_ && draft.is_empty()) return {};
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
               .has_open_calls = !state_.details->open_calls.empty()},
              std::move(draft.reason));
  auto receipt = std::ranges::any_of(batch.entries, is_large) ? commit_with_blobs(batch)
                                                              : commit_in_order(batch);
  if (!receipt) return forward(receipt);
  return take_in(std::move(batch), *receipt);
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
// lives and has continued from there. No other process could write, so the same batches fit again.
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
  // A batch that is there already yields its receipt to any caller: that proves nothing about now.
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
  return commit(std::move(taken));
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
    version_ = *receipt.version;
    named_at_ = receipt.at;
    named_turns_ = state_.totals.turns;
  }
  return {};
}

}  // namespace perdure
