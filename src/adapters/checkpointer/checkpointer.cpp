// A checkpointer: the sessions that it has open, calls as the ledger and the log have them, and the
// operations of the class.

#include "perdure/adapters/checkpointer.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "checkpointer/held_log.hpp"
#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/api/worker.hpp"
#include "store/api/lookup.hpp"

namespace perdure::checkpointing {

/// Ended or paused: a person decided that it rests. It is read, and not gone on with.
bool is_at_rest(Status status) { return has_ended(status) || status == Status::paused; }

class OpenSessions {
 public:
  /// `store` must outlive this. Writes nothing yet.
  OpenSessions(Store& store, const CheckpointerOptions& options)
      : store_(store), options_(options) {}

  /// Does `work`, a function of a HeldLog that returns a Result, with a session that this has.
  /// Fails: `conflict` if it has not.
  template <class Work>
  auto with_held(const SessionId& session, Work work) {
    return locked(session, std::move(work), [&](Slot& slot) -> Result<void> {
      if (slot.held) return {};
      return fail(ErrorCode::conflict,
                  fmt::format("session {} is not ours: start or load it first", session.text()));
    });
  }

  /// As with_held; takes the session up first.
  /// Fails: as HeldLog::take_up.
  template <class Work>
  auto with_taken(const SessionId& session, Work work) {
    return locked(session, std::move(work), [&](Slot& slot) { return take_up(slot, session); });
  }

  /// Creates the session with what it begins with, and has it from then on.
  /// Fails: as HeldLog::begin.
  [[nodiscard]] Result<void> begin(const SessionId& session, const std::vector<NewEntry>& opening) {
    const auto slot = find_slot(session);
    const std::lock_guard lock(slot->mutex);
    return hold(*slot, [&](Worker& worker) {
      return HeldLog::begin(store_, *options_.ids, session, worker, opening);
    });
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<HeldLog> held;
  };

  // A session is let go when its lease is lost or it is at rest.
  template <class Work, class Prepare>
  auto locked(const SessionId& session, Work work, Prepare prepare)
      -> decltype(work(std::declval<HeldLog&>())) {
    if (auto here = process_.check(); !here) return forward(here);
    const auto slot = find_slot(session);
    const std::lock_guard lock(slot->mutex);
    if (auto prepared = prepare(*slot); !prepared) return forward(prepared);
    auto done = settled(*slot->held, work);
    const bool is_lost = !done && done.error().code == ErrorCode::lease_lost;
    if (is_lost || is_at_rest(slot->held->status())) slot->held.reset();
    return done;
  }

  template <class Work>
  static auto settled(HeldLog& held, Work& work) -> decltype(work(held)) {
    if (auto known = held.settle(); !known) return forward(known);
    return work(held);
  }

  std::shared_ptr<Slot> find_slot(const SessionId& session) {
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[session];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  // One that we have is asked for again: another process may have taken it over, or deleted it and
  // created another one with the same id, whose fences start over. The caller must not get what was
  // true before.
  Result<void> take_up(Slot& slot, const SessionId& session) {
    if (slot.held) {
      const auto row = store_.sessions().read(session);
      if (row && row->holder && slot.held->is_held_by(*row->holder)) return {};
      slot.held.reset();
    }
    return hold(slot, [&](Worker& worker) {
      return HeldLog::take_up(store_, *options_.ids, session, worker);
    });
  }

  template <class Make>
  Result<void> hold(Slot& slot, Make make) {
    auto worker = enrolled();
    if (!worker) return forward(worker);
    Result<std::unique_ptr<HeldLog>> held = make(**worker);
    if (!held && held.error().code == ErrorCode::lease_lost) {
      // The machine slept. A late renewal harms no other worker.
      if (auto renewed = (*worker)->renew(); !renewed) return forward(renewed);
      held = make(**worker);
    }
    if (!held) return forward(held);
    slot.held = *std::move(held);
    return {};
  }

  Result<Worker*> enrolled() {
    const std::lock_guard lock(mutex_);
    if (!worker_) {
      auto made = Worker::enroll(store_, *options_.clock,
                                 {.id = mint<WorkerTag>(*options_.ids),
                                  .host = machine_name(),
                                  .pid = options_.pid == 0 ? ::getpid() : options_.pid,
                                  .lease_time = options_.lease_time});
      if (!made) return forward(made);
      worker_ = *std::move(made);
    }
    return worker_.get();
  }

  const OwnProcess process_;
  Store& store_;
  const CheckpointerOptions options_;
  std::mutex mutex_;
  std::unique_ptr<Worker> worker_;
  /// After the worker: they are given up before it retires. Shared with threads at work in one.
  std::map<SessionId, std::shared_ptr<Slot>> slots_;
};

namespace {

// Calls, from the ledger and the log to a checkpointer's terms. Its own calls are two entries on
// the channel `tool_calls`: the arguments, which are also the call's intent, and what became of it,
// each as the bare text that was handed in. Calls of the runtime's dispatcher have both in
// messages.

using dispatch::book_channel;
using dispatch::book_error_kind;

// The kinds of what becomes of a call, and how the ledger calls it.
struct Ending {
  CallState state;
  const char* kind;
  const std::string& text;
};

Ending ending_of(const ToolOutcome& outcome) {
  if (const auto* failed = std::get_if<Failed>(&outcome)) {
    return {CallState::failed, "failed", failed->why};
  }
  if (const auto* never = std::get_if<Never>(&outcome)) {
    return {CallState::failed, "failed", never->why};
  }
  if (const auto* doubtful = std::get_if<Doubtful>(&outcome)) {
    return {CallState::in_doubt, "doubt", doubtful->why};
  }
  const auto& succeeded = std::get<Succeeded>(outcome);
  return {CallState::succeeded, succeeded.is_error ? book_error_kind : "result", succeeded.content};
}

Tool tool_of(const Checkpointer::ToolCall& call) {
  Tool tool;
  tool.name = call.tool_name;
  tool.input_schema = call.input_schema;
  tool.repeat = call.repeat;
  tool.business_key = call.business_key;
  return tool;
}

/// Which operation the call is: the key that the dispatcher would give it.
/// Fails: as dispatch::operation_of.
Result<dispatch::Operation> operation_of(const Checkpointer::ToolCall& call,
                                         const dispatch::Place& place) {
  return dispatch::operation_of(tool_of(call), call.args.value(), place);
}

/// How often the operation has failed: a vendor may keep its answer to an attempt that failed, so
/// each failure changes the key that it is given.
/// Fails: as Ledger::by_key.
Result<std::int64_t> failures_of(Store& store, const Digest& key) {
  auto calls = store.lookup().by_key(key);
  if (!calls) return forward(calls);
  std::int64_t failures = 0;
  for (const Call& call : *calls) failures += call.failures;
  return failures;
}

/// Writes the call down, with the generation of its vendor's key, and claims its key.
Batch issue_of(const Checkpointer::ToolCall& call, Position at, const Digest& key,
               std::int64_t generation) {
  Batch batch;
  batch.entries = {
      {.channel = book_channel, .kind = "issued", .body = Body::from_text(call.args.text())}};
  if (generation > 0) {
    batch.entries.push_back({.channel = book_channel,
                             .kind = dispatch::book_generation_kind,
                             .body = Body::from_text(std::to_string(generation))});
  }
  batch.calls = {Intend{.call = at,
                        .args = at,
                        .tool = call.tool_name,
                        .provider_id = call.call_id,
                        .effect = call.effect,
                        .key = key},
                 Dispatch{.call = at}};
  return batch;
}

/// Writes down what became of the call at `call`; the entry gets the position `at`.
Batch result_of(Position call, const ToolOutcome& outcome, Position at, const std::string& who) {
  const Ending ending = ending_of(outcome);
  Batch batch;
  batch.entries = {
      {.channel = book_channel, .kind = ending.kind, .body = Body::from_text(ending.text)}};
  batch.calls = {Settle{.call = call, .state = ending.state, .result = at, .who = who}};
  return batch;
}

/// Fails: `conflict` if a call in doubt is to have failed because a later run of it did nothing.
Result<void> check_may_end(const Call& call, const ToolOutcome& outcome, const std::string& who) {
  const bool may_have_landed =
      call.state == CallState::in_doubt && call.effect != EffectClass::read_only;
  if (!may_have_landed || !who.empty() || !std::holds_alternative<Failed>(outcome)) return {};
  const std::string name = call_name(call.session, call.position);
  return fail(ErrorCode::conflict,
              fmt::format("call {} is in doubt, and that a later run did nothing does not end it: "
                          "say who found out that it did not happen, or Never if its tool states "
                          "that it did not and will not",
                          name),
              name);
}

/// The key that the vendor was given when the call was issued.
/// Fails: as Ledger::by_key and Log::read.
Result<std::string> key_at_vendor(Store& store, const Call& call) {
  auto recorded = dispatch::recorded_generation(store, call);
  if (!recorded) return forward(recorded);
  if (*recorded) return dispatch::vendor_key(*call.key, **recorded);
  auto failures = failures_of(store, *call.key);
  if (!failures) return forward(failures);
  return dispatch::vendor_key(*call.key, *failures);
}

/// Whether that outcome is the one the call has.
/// Fails: as Log::read.
Result<bool> is_outcome(Store& store, const Call& call, const ToolOutcome& outcome) {
  const Ending ending = ending_of(outcome);
  if (call.state != ending.state) return false;
  // Nothing new is said by doubting twice.
  if (call.state == CallState::in_doubt) return true;
  auto ran = dispatch::recorded_result(store, call);
  if (!ran) return forward(ran);
  const bool is_error = ending.kind == std::string_view(book_error_kind);
  return *ran && (*ran)->content == ending.text && (*ran)->is_error == is_error;
}

/// Fails: as Log::read; what is erased or gone is not an error.
Result<Checkpointer::Completed> completed(Store& store, const Call& call) {
  auto ran = dispatch::recorded_result(store, call);
  if (!ran) return forward(ran);
  Checkpointer::Completed told{.session = call.session,
                               .call = call.position,
                               .call_id = call.provider_id,
                               .tool_name = call.tool};
  if (*ran) {
    told.result = std::move((*ran)->content);
    told.is_error = (*ran)->is_error;
  }
  return told;
}

Result<Checkpointer::Pending> pending(Store& store, const Call& call) {
  auto args = dispatch::recorded_args(store, call);
  if (!args) return forward(args);
  auto doubt = dispatch::recorded_result(store, call);
  if (!doubt) return forward(doubt);
  Checkpointer::Pending told{.session = call.session,
                             .call = call.position,
                             .call_id = call.provider_id,
                             .tool_name = call.tool,
                             .args = *std::move(args),
                             .effect = call.effect,
                             .state = call.state,
                             .issued_at = call.dispatched_at,
                             .why = call.why};
  if (call.key) {
    auto key = key_at_vendor(store, call);
    if (!key) return forward(key);
    told.idempotency_key = *std::move(key);
  }
  if (told.why.empty() && *doubt) told.why = std::move((*doubt)->content);
  if (call.state == CallState::dispatched) {
    auto row = store.sessions().read(call.session);
    if (!row) return forward(row);
    const auto& holder = row->holder;
    told.is_running = holder && holder->alive && holder->fence == call.fence;
  }
  return told;
}

/// Fails: `conflict` if the holder of the key was issued with other arguments.
Result<void> check_same_args(Store& store, const Call& holder, const Checkpointer::ToolCall& call,
                             const dispatch::Operation& operation) {
  if (call.business_key.empty()) return {};
  auto args = dispatch::recorded_args(store, holder);
  if (!args) return forward(args);
  const auto there = *args ? RawJson::from_text(**args) : RawJson();
  // What is gone cannot be compared; the key alone says that it is the same.
  if (!*args || !there) return {};
  const auto known = dispatch::args_digest_of(tool_of(call), there->value());
  if (known && *known == operation.args) return {};
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("call {} has the same business key, and other arguments", name), name);
}

// Asking for a call: claimed for the asker, or what became of it for an earlier asker.
//
// The key is looked up first, so that a replay writes nothing. That is not what makes it
// safe: the commit claims the key or fails, and a caller that fails looks again.

using Issued = Checkpointer::Issued;
using MayRun = Checkpointer::MayRun;
using ToolCall = Checkpointer::ToolCall;

Result<MayRun> may_run(Store& store, const Call& issued) {
  auto key = key_at_vendor(store, issued);
  if (!key) return forward(key);
  return MayRun{.call = issued.position, .key = *std::move(key)};
}

Result<Issued> answer(Store& store, HeldLog& held, const Call& holder) {
  const bool is_untold =
      holder.session == held.session() && held.untold.erase(holder.position) == 1;
  if (is_untold) return may_run(store, holder);
  if (holder.state == CallState::succeeded) return completed(store, holder);
  auto told = pending(store, holder);
  if (!told) return forward(told);
  if (told->state != CallState::dispatched || told->is_running) return *std::move(told);
  // Its runner may have reported the outcome and exited between the two looks.
  auto now = store.ledger().read(holder.session, holder.position);
  if (!now) return forward(now);
  if (now->state == CallState::succeeded) return completed(store, *now);
  return *std::move(told);
}

// What a bundle says was done is neither done again nor taken as done.
Result<void> check_unclaimed(Store& store, const Digest& key) {
  auto claims = store.lookup().find_claims(key);
  if (!claims) return forward(claims);
  if (claims->empty()) return {};
  const Call& claim = claims->front();
  const std::string name = call_name(claim.session, claim.position);
  return fail(
      ErrorCode::conflict,
      fmt::format("a bundle that was not accepted says that this was done, as {}: delete that "
                  "session, or import the bundle again with its claims accepted",
                  name),
      name);
}

// Empty: the key is free.
Result<std::optional<Issued>> look_up(Store& store, HeldLog& held, const ToolCall& call,
                                      const dispatch::Operation& operation) {
  auto holder = store.ledger().find_holder(operation.key);
  if (!holder) return forward(holder);
  if (!*holder) {
    if (auto free = check_unclaimed(store, operation.key); !free) return forward(free);
    return std::nullopt;
  }
  if (auto same = check_same_args(store, **holder, call, operation); !same) return forward(same);
  return answer(store, held, **holder);
}

Result<Issued> issue(Store& store, HeldLog& held, const ToolCall& call) {
  const Position at = held.next();
  auto operation = operation_of(call, held.place_of(at));
  if (!operation) return forward(operation);
  auto known = look_up(store, held, call, *operation);
  if (!known) return forward(known);
  if (*known) return **std::move(known);

  auto failures = failures_of(store, operation->key);
  if (!failures) return forward(failures);
  auto receipt = held.commit(issue_of(call, at, operation->key, *failures));
  if (receipt) return MayRun{.call = at, .key = dispatch::vendor_key(operation->key, *failures)};
  if (receipt.error().code == ErrorCode::commit_unknown) held.untold.insert(at);
  if (receipt.error().code != ErrorCode::conflict) return forward(receipt);
  known = look_up(store, held, call, *operation);
  if (!known) return forward(known);
  if (!*known) return forward(receipt);
  return **std::move(known);
}

using Loaded = Checkpointer::Loaded;

Result<void> commit(HeldLog& held, Batch batch, const std::string& why = {}) {
  auto receipt = held.commit(std::move(batch), why);
  if (!receipt) return forward(receipt);
  return {};
}

Result<void> begin(HeldLog& held, std::vector<NewEntry> opening) {
  const Status status = held.status();
  if (is_at_rest(status)) {
    return fail(ErrorCode::conflict,
                fmt::format("session {} is {}: reopen it, or start another one",
                            held.session().text(), to_string(status)));
  }
  Batch batch;
  if (held.texts().messages.empty()) batch.entries = std::move(opening);
  if (status != Status::active) batch.status = StatusChange{};
  if (batch.entries.empty() && !batch.status) return {};
  return commit(held, std::move(batch), "it was started");
}

// Calls that were done after the entry at `saved`.
Result<std::vector<Checkpointer::Completed>> done_since(Store& store, const SessionId& session,
                                                        Position saved) {
  std::vector<Checkpointer::Completed> found;
  auto done = store.ledger().list(
      {.session = session, .states = {CallState::succeeded}, .limit = limit_max});
  if (!done) return forward(done);
  for (const Call& call : *done) {
    if (call.result.value_or(0) <= saved) continue;
    auto one = completed(store, call);
    if (!one) return forward(one);
    found.push_back(*std::move(one));
  }
  return found;
}

Result<std::optional<Loaded>> loaded_of(Store& store, const SessionId& session,
                                        const LogTexts& texts) {
  auto latest = store.log().checkpoints(session, {.limit = 1});
  if (!latest) return forward(latest);
  const Checkpoint checkpoint = latest->empty() ? Checkpoint{} : latest->front();
  auto done = done_since(store, session, checkpoint.position);
  if (!done) return forward(done);
  if (checkpoint.version == 0 && texts.messages.empty() && done->empty()) return std::nullopt;
  auto content = content_of(texts);
  if (!content) return forward(content);
  return Loaded{.version = checkpoint.version,
                .content = *std::move(content),
                .done_since = *std::move(done),
                .missing = texts.missing};
}

// For those who only look: the session need not be ours. Empty: nothing was ever done in it.
Result<std::optional<Origin>> find_origin(Store& store, const SessionId& session) {
  auto value = store.log().find_value(session, "origin", Point::head());
  if (!value && value.error().code == ErrorCode::not_found) return std::nullopt;
  if (!value) return forward(value);
  if (!*value) return std::nullopt;
  auto origin = origin_from_json((*value)->body.bytes());
  return origin ? *std::move(origin) : Origin{.root = session.text()};
}

}  // namespace
}  // namespace perdure::checkpointing

namespace perdure {

using checkpointing::HeldLog;

struct Checkpointer::Parts {
  Parts(Store& a_store, const CheckpointerOptions& options)
      : store(a_store),
        sources(options.clock, options.ids),
        sessions(store, {.lease_time = options.lease_time,
                         .clock = &sources.clock,
                         .ids = &sources.ids,
                         .pid = options.pid}) {}

  Store& store;
  GuardedSources sources;
  checkpointing::OpenSessions sessions;
};

Checkpointer::Checkpointer(Store& store, const CheckpointerOptions& options)
    : parts_(of_own_process(std::make_unique<Parts>(store, options))) {}

Checkpointer::~Checkpointer() = default;

Result<void> Checkpointer::start_session(const SessionId& session, const RawJson& opening) {
  auto messages = checkpointing::messages_of(opening);
  if (!messages) return forward(messages);
  const auto begin = [&](HeldLog& held) { return checkpointing::begin(held, *messages); };
  auto begun = parts_->sessions.with_taken(session, begin);
  if (begun || begun.error().code != ErrorCode::not_found) return begun;
  auto made = parts_->sessions.begin(session, *messages);
  if (made || made.error().code != ErrorCode::already_exists) return made;
  return parts_->sessions.with_taken(session, begin);
}

Result<Version> Checkpointer::save_checkpoint(const SessionId& session, const Content& content) {
  return parts_->sessions.with_held(session, [&](HeldLog& held) -> Result<Version> {
    auto entries = checkpointing::changes_to(held.texts(), content);
    if (!entries) return forward(entries);
    Batch batch;
    batch.entries = *std::move(entries);
    batch.checkpoint = NewCheckpoint{.reason = "saved"};
    auto receipt = held.commit(std::move(batch));
    if (!receipt) return forward(receipt);
    return *receipt->version;
  });
}

Result<Checkpointer::Issued> Checkpointer::record_tool_call_issued(const SessionId& session,
                                                                   const ToolCall& call) {
  return parts_->sessions.with_held(
      session, [&](HeldLog& held) { return checkpointing::issue(parts_->store, held, call); });
}

Result<void> Checkpointer::record_tool_call_result(const SessionId& session, Position call,
                                                   const ToolOutcome& outcome,
                                                   const std::string& who) {
  return parts_->sessions.with_held(session, [&](HeldLog& held) -> Result<void> {
    auto row = parts_->store.ledger().read(session, call);
    if (!row) return forward(row);
    auto known = checkpointing::is_outcome(parts_->store, *row, outcome);
    if (!known) return forward(known);
    if (*known) return {};
    if (auto may = checkpointing::check_may_end(*row, outcome, who); !may) return may;
    return checkpointing::commit(held, checkpointing::result_of(call, outcome, held.next(), who));
  });
}

Result<std::optional<Checkpointer::Completed>> Checkpointer::find_completed_call(
    const SessionId& session, const ToolCall& call) {
  Store& store = parts_->store;
  auto origin = checkpointing::find_origin(store, session);
  if (!origin) return forward(origin);
  if (!*origin) return std::nullopt;
  auto operation = checkpointing::operation_of(
      call, {.session = session.text(), .root = (*origin)->root, .root_nonce = (*origin)->nonce});
  if (!operation) return forward(operation);
  auto holder = store.ledger().find_holder(operation->key);
  if (!holder) return forward(holder);
  if (!*holder || (*holder)->state != CallState::succeeded) return std::nullopt;
  auto same = checkpointing::check_same_args(store, **holder, call, *operation);
  if (!same) return forward(same);
  return checkpointing::completed(store, **holder);
}

Result<std::optional<Checkpointer::Loaded>> Checkpointer::load_latest(const SessionId& session) {
  Store& store = parts_->store;
  auto row = store.sessions().read(session);
  if (!row && row.error().code == ErrorCode::not_found) return std::nullopt;
  if (!row) return forward(row);
  if (!checkpointing::is_at_rest(row->status)) {
    return parts_->sessions.with_taken(session, [&](HeldLog& held) {
      return checkpointing::loaded_of(store, session, held.texts());
    });
  }
  auto texts = checkpointing::read_texts(store, session, Point::head());
  if (!texts) return forward(texts);
  return checkpointing::loaded_of(store, session, *texts);
}

Result<std::vector<Checkpointer::Pending>> Checkpointer::check_pending_tool_calls(
    const SessionId& session) {
  std::vector<Pending> found;
  auto calls = parts_->store.ledger().list(
      {.session = session,
       .states = {CallState::intended, CallState::dispatched, CallState::in_doubt},
       .limit = limit_max});
  if (!calls && calls.error().code == ErrorCode::not_found) return found;
  if (!calls) return forward(calls);
  for (const Call& call : *calls) {
    auto one = checkpointing::pending(parts_->store, call);
    if (!one) return forward(one);
    found.push_back(*std::move(one));
  }
  return found;
}

Result<void> Checkpointer::end_session(const SessionId& session, Status status) {
  if (!has_ended(status)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is no end of a session", to_string(status)));
  }
  return parts_->sessions.with_held(session, [&](HeldLog& held) -> Result<void> {
    auto open = check_pending_tool_calls(session);
    if (!open) return forward(open);
    if (status != Status::cancelled && !open->empty()) {
      return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
                  call_name(session, open->front().call));
    }
    return checkpointing::commit(held, {.status = StatusChange{.status = status}}, "it was ended");
  });
}

Result<Checkpointer::Loaded> read_content(Store& store, const SessionId& session, Point as_of) {
  auto texts = checkpointing::read_texts(store, session, as_of);
  if (!texts) return forward(texts);
  auto content = checkpointing::content_of(*texts);
  if (!content) return forward(content);
  Checkpointer::Loaded loaded{.content = *std::move(content), .missing = texts->missing};
  if (as_of.kind() == Point::Kind::version) loaded.version = as_of.number();
  return loaded;
}

}  // namespace perdure
