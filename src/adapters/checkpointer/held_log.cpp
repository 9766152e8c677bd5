// From a log to texts, and from two texts to what is new; taking a session up, and committing to
// it.
//
// Texts are compared as bytes first: a serialiser that writes the same twice is the rule. Only
// where they differ are they compared as JSON, so that a difference in white space is not a change.

#include "checkpointer/held_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/raw_json.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/api/worker.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure::checkpointing {
namespace {

bool is_same_json(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = parse_json(a);
  const auto right = parse_json(b);
  if (!left || !right) return false;
  const auto canonical_left = canonical_json(*left);
  const auto canonical_right = canonical_json(*right);
  return canonical_left && canonical_right && *canonical_left == *canonical_right;
}

NewEntry entry_of(std::string channel, std::string kind, std::string_view text) {
  return {.channel = std::move(channel),
          .kind = std::move(kind),
          .body = Body::from_text(std::string(text))};
}

// What was replaced is gone, also if what replaced it cannot be read.
bool take_in_message(LogTexts& texts, const Entry& entry) {
  if (entry.fold == Fold::replace) texts.messages.clear();
  if (entry.condition != Condition::intact || entry.body.codec() != Codec::json) return false;
  texts.messages.push_back(entry.body.bytes());
  return true;
}

bool take_in_plan(LogTexts& texts, const Entry& entry) {
  if (entry.condition != Condition::intact || entry.body.codec() != Codec::json) return false;
  texts.plan.reset();
  if (entry.body.bytes() != "null") texts.plan = entry.body.bytes();
  return true;
}

bool take_in_money(LogTexts& texts, const Entry& entry) {
  if (entry.condition != Condition::intact) return false;
  const auto change = budget_entry_from_json(entry.kind, entry.body.bytes());
  return change && replay(texts.budget, *change);
}

bool take_in_origin(LogTexts& texts, const Entry& entry) {
  if (entry.kind != "origin") return entry.condition == Condition::intact;
  texts.origin.reset();
  texts.has_lost_origin = true;
  if (entry.condition != Condition::intact) return false;
  auto origin = origin_from_json(entry.body.bytes());
  if (!origin) return false;
  texts.origin = *std::move(origin);
  texts.has_lost_origin = false;
  return true;
}

// Of no use to those who load the session, so it is not missing either.
void take_in_status(LogTexts& texts, const Entry& entry) {
  if (entry.condition != Condition::intact) return;
  auto note = status_note_from_json(entry.kind, entry.body.bytes());
  if (!note) return;
  note->position = entry.position;
  texts.status = *std::move(note);
}

bool is_read_here(const Entry& entry) {
  return entry.channel == "transcript" || entry.channel == "plan" || entry.channel == "budget" ||
         entry.channel == "origin";
}

Result<void> add_messages(const LogTexts& texts, const RawJson& transcript,
                          std::vector<NewEntry>& entries) {
  const auto elements = split_array(transcript.text());
  if (!elements) return fail(ErrorCode::invalid_argument, "the transcript is no list of messages");
  if (elements->empty() && !texts.messages.empty()) {
    return fail(ErrorCode::invalid_argument, "the transcript is empty, and was not: load it first");
  }
  const bool goes_on =
      elements->size() >= texts.messages.size() &&
      std::equal(texts.messages.begin(), texts.messages.end(), elements->begin(), is_same_json);
  for (std::size_t i = goes_on ? texts.messages.size() : 0; i < elements->size(); ++i) {
    entries.push_back(entry_of("transcript", "message", (*elements)[i]));
    if (!goes_on && i == 0) entries.back().fold = Fold::replace;
  }
  return {};
}

void add_plan(const LogTexts& texts, const std::optional<RawJson>& plan,
              std::vector<NewEntry>& entries) {
  const bool is_none = !plan || plan->value().is_null();
  const std::string_view text = is_none ? std::string_view("null") : plan->text();
  if (is_same_json(texts.plan ? std::string_view(*texts.plan) : "null", text)) return;
  entries.push_back(entry_of("plan", "plan", text));
  entries.back().fold = Fold::replace;
}

Result<void> add_money(const LogTexts& texts, std::int64_t spent, std::vector<NewEntry>& entries) {
  const std::int64_t before = texts.budget.totals.spent;
  if (spent < before) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} micros were spent in all, and {} before: what was paid stays paid; "
                            "load the session and go on from there",
                            spent, before));
  }
  if (spent == before) return {};
  Budget budget = texts.budget;
  auto change = enter(budget, {.change = BudgetChange::spend, .micros = spent - before});
  if (!change) return forward(change);
  entries.push_back(entry_of("budget", std::string(to_string(change->change)), to_json(*change)));
  entries.back().tally.cost_micros = spent - before;
  return {};
}

}  // namespace

void take_in(LogTexts& texts, const Entry& entry) {
  // Of an entry whose row was zeroed, not even the channel is known: it may be any of these.
  bool is_read = !entry.channel.empty() || entry.condition != Condition::damaged;
  if (!is_read && !texts.origin) texts.has_lost_origin = true;
  if (entry.channel == "transcript") is_read = take_in_message(texts, entry);
  if (entry.channel == "plan") is_read = take_in_plan(texts, entry);
  if (entry.channel == "budget") is_read = take_in_money(texts, entry);
  if (entry.channel == "origin") is_read = take_in_origin(texts, entry);
  if (entry.channel == "status") take_in_status(texts, entry);
  if (!is_read) texts.missing.push_back(entry.position);
}

Result<LogTexts> read_texts(Store& store, const SessionId& session, Point as_of) {
  LogTexts texts;
  auto read = read_line(store, session, as_of, [&](Entry& entry) -> Result<void> {
    // A session that was also run by the runtime may have large messages in blobs.
    if (is_read_here(entry)) {
      if (auto loaded = load_blob(store.blobs(), entry); !loaded) return loaded;
    }
    take_in(texts, entry);
    return {};
  });
  if (!read) return forward(read);
  return texts;
}

Result<Checkpointer::Content> content_of(const LogTexts& texts) {
  std::size_t size = 2;
  for (const std::string& message : texts.messages) size += message.size() + 1;
  std::string list;
  list.reserve(size);
  list += '[';
  for (const std::string& message : texts.messages) {
    if (list.size() > 1) list += ',';
    list += message;
  }
  list += ']';
  auto transcript = RawJson::from_text(std::move(list));
  // As deep as JSON may be, and in a list one deeper.
  if (!transcript) return forward(transcript);
  Checkpointer::Content content{.transcript = *std::move(transcript),
                                .spent_micros = texts.budget.totals.spent};
  if (texts.plan) content.plan = RawJson::from_text(*texts.plan).value();
  return content;
}

Result<std::vector<NewEntry>> changes_to(const LogTexts& texts,
                                         const Checkpointer::Content& content) {
  std::vector<NewEntry> entries;
  if (auto added = add_messages(texts, content.transcript, entries); !added) return forward(added);
  add_plan(texts, content.plan, entries);
  if (auto added = add_money(texts, content.spent_micros, entries); !added) return forward(added);
  return entries;
}

Result<std::vector<NewEntry>> messages_of(const RawJson& list) {
  std::vector<NewEntry> entries;
  if (auto added = add_messages({}, list, entries); !added) return forward(added);
  return entries;
}

namespace {

constexpr const char* lost_owner = "the process that ran it is gone, and did not say";

// The store looks a batch's id up before it judges the batch: who is judged was not committed.
bool says_no(ErrorCode code) {
  return code == ErrorCode::conflict || code == ErrorCode::lease_lost ||
         code == ErrorCode::not_found || code == ErrorCode::already_exists ||
         code == ErrorCode::invalid_argument;
}

NewEntry origin_entry(const Origin& origin) {
  return {.channel = "origin",
          .kind = "origin",
          .fold = Fold::replace,
          .body = Body::from_text(to_json(origin))};
}

}  // namespace

dispatch::Place HeldLog::place_of(Position call) const {
  const std::string& id = session().text();
  dispatch::Place place{.session = id, .call = call, .nonce = nonce_, .root = id};
  if (texts_.origin) place.root = texts_.origin->root;
  if (texts_.origin) place.root_nonce = texts_.origin->nonce;
  return place;
}

Result<std::unique_ptr<HeldLog>> HeldLog::take_up(Store& store, IdSource& ids,
                                                  const SessionId& session, Worker& worker) {
  auto grip = worker.take(session);
  if (!grip) return forward(grip);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::unique_ptr<HeldLog> held(new HeldLog(store, ids, *std::move(grip)));
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
  Batch first{.id = mint<BatchTag>(ids), .entries = {origin_entry(root_origin(session, ids))}};
  first.entries.insert(first.entries.end(), std::make_move_iterator(opening.begin()),
                       std::make_move_iterator(opening.end()));
  auto created = surely([&] { return store.create({.id = session}, worker.id(), first); });
  if (!created) return forward(created);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  std::unique_ptr<HeldLog> held(new HeldLog(store, ids, {*std::move(place), created->lease}));
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

// What a new owner must write before anything else: where the session comes from, if that is not on
// record, and that calls under an earlier fence are in doubt.
Result<void> HeldLog::open_books() {
  Batch batch;
  if (!texts_.origin) {
    Origin origin = root_origin(session(), ids_);
    if (texts_.has_lost_origin) origin.nonce.clear();
    batch.entries.push_back(origin_entry(origin));
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
