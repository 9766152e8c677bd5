// Taking a session up, and committing to it.

#include "checkpointer/held_log.hpp"

#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpointer/log_texts.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit_surely.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/status_entry.hpp"
#include "runtime/api/worker.hpp"

namespace perdure::checkpointing {
namespace {

constexpr const char* lost_owner = "the process that ran it is gone, and did not say";

// The store looks a batch's id up before it judges the batch: who is judged was not committed.
bool says_no(ErrorCode code) {
  return code == ErrorCode::conflict || code == ErrorCode::lease_lost ||
         code == ErrorCode::not_found || code == ErrorCode::already_exists ||
         code == ErrorCode::invalid_argument;
}

NewEntry entry_of(const Origin& origin) {
  return {.channel = "origin",
          .kind = "origin",
          .fold = Fold::replace,
          .body = Body::from_text(to_json(origin))};
}

}  // namespace

Site HeldLog::site(Position call) const {
  return {.session = session(),
          .origin = texts_.origin.value_or(Origin{.root = session().text()}),
          .call = call,
          .nonce = nonce_};
}

Result<std::unique_ptr<HeldLog>> HeldLog::take_up(Store& store, IdSource& ids,
                                                  const SessionId& session, Worker& worker) {
  auto place = worker.take_place(session);
  if (!place) return forward(place);
  auto lease = store.ownership().acquire(session, worker.id());
  if (!lease && lease.error().code == ErrorCode::lease_held) {
    return name_holder(store, session, std::move(lease).error());
  }
  if (!lease) return forward(lease);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::unique_ptr<HeldLog> held(new HeldLog(store, ids, *std::move(place), *std::move(lease)));
  // Read after the lease: before it, another one could still write.
  if (auto loaded = held->load(); !loaded) return forward(loaded);
  if (auto opened = held->open_books(); !opened) return forward(opened);
  return held;
}

Result<std::unique_ptr<HeldLog>> HeldLog::begin(Store& store, IdSource& ids,
                                                const SessionId& session, Worker& worker,
                                                std::vector<NewEntry> opening) {
  auto place = worker.take_place(session);
  if (!place) return forward(place);
  Batch first{.id = mint<BatchTag>(ids), .entries = {entry_of(root_origin(session, ids))}};
  first.entries.insert(first.entries.end(), std::make_move_iterator(opening.begin()),
                       std::make_move_iterator(opening.end()));
  auto created = create_surely(store, {.id = session}, worker.id(), first);
  if (!created) return forward(created);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::unique_ptr<HeldLog> held(new HeldLog(store, ids, *std::move(place), created->lease));
  held->take_in_batch(first, created->receipt);
  return held;
}

HeldLog::~HeldLog() {
  // Where this fails, the worker's end frees it.
  [[maybe_unused]] const auto released = store_.ownership().release(lease_);
}

Result<void> HeldLog::load() {
  auto row = store_.sessions().read(session());
  if (!row) return forward(row);
  auto texts = read_texts(store_, session(), Point::head());
  if (!texts) return forward(texts);
  head_ = row->head;
  next_ = row->next;
  status_ = row->status;
  wait_reason_ = row->wait_reason;
  is_restored_ = row->restored;
  const bool is_fork = row->parent && row->parent->lineage == Lineage::fork;
  inherited_ = is_fork ? row->parent->position : 0;
  texts_ = *std::move(texts);
  return {};
}

// What a new owner must write before anything else: where the session comes from, if nobody did,
// and that calls under an earlier fence are in doubt.
Result<void> HeldLog::open_books() {
  Batch batch;
  if (!texts_.origin) {
    Origin origin = root_origin(session(), ids_);
    if (texts_.has_lost_origin) origin.nonce.clear();
    batch.entries.push_back(entry_of(origin));
  }
  auto started = store_.ledger().list(
      {.session = session(), .states = {CallState::dispatched}, .limit = limit_max});
  if (!started) return forward(started);
  for (const Call& call : *started) {
    if (call.fence == lease_.fence) continue;
    batch.calls.emplace_back(
        Settle{.call = call.position, .state = CallState::in_doubt, .why = lost_owner});
  }
  if (batch.entries.empty() && batch.calls.empty()) return {};
  auto receipt = commit(std::move(batch));
  if (!receipt) return forward(receipt);
  return {};
}

Result<void> HeldLog::settle() {
  if (!unknown_) return {};
  auto receipt = commit_surely(store_, lease_, *unknown_);
  if (!receipt && !says_no(receipt.error().code)) return forward(receipt);
  unknown_.reset();
  if (!receipt) untold.clear();
  if (!receipt && receipt.error().code == ErrorCode::lease_lost) return forward(receipt);
  return load();
}

Result<Receipt> HeldLog::commit(Batch batch, const std::string& why) {
  if (auto settled = settle(); !settled) return forward(settled);
  note_status(batch,
              {.status = status_,
               .wait_reason = wait_reason_,
               .in_log = status_in_log(texts_.status, inherited_),
               .restored = is_restored_},
              {.who = lease_.worker.text(), .why = why});
  batch.id = mint<BatchTag>(ids_);
  batch.expected_head = head_;
  auto receipt = commit_surely(store_, lease_, batch);
  if (receipt) {
    take_in_batch(batch, *receipt);
  } else if (receipt.error().code == ErrorCode::commit_unknown) {
    unknown_ = std::move(batch);
  }
  return receipt;
}

void HeldLog::take_in_batch(const Batch& batch, const Receipt& receipt) {
  Position position = receipt.first;
  for (const NewEntry& entry : batch.entries) {
    take_in(texts_, {.position = position++,
                     .channel = entry.channel,
                     .kind = entry.kind,
                     .fold = entry.fold,
                     .body = entry.body});
  }
  if (batch.status) {
    status_ = batch.status->status;
    wait_reason_ = batch.status->wait_reason;
    is_restored_ = false;
  }
  head_ = receipt.head;
  next_ = std::max(next_, position);
}

}  // namespace perdure::checkpointing
