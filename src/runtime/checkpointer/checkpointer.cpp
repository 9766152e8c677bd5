// Seven operations and an end.

#include "perdure/runtime/checkpointer.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpointer/calls.hpp"
#include "checkpointer/held_log.hpp"
#include "checkpointer/holdings.hpp"
#include "checkpointer/issue.hpp"
#include "checkpointer/told.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/origin.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace checkpointing {
namespace {

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
  if (held.told().messages.empty()) batch.entries = std::move(opening);
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

Result<std::optional<Loaded>> loaded_of(Store& store, const SessionId& session, const Told& told) {
  auto latest = store.log().checkpoints(session, {.limit = 1});
  if (!latest) return forward(latest);
  const Checkpoint checkpoint = latest->empty() ? Checkpoint{} : latest->front();
  auto done = done_since(store, session, checkpoint.position);
  if (!done) return forward(done);
  if (checkpoint.version == 0 && told.messages.empty() && done->empty()) return std::nullopt;
  auto content = content_of(told);
  if (!content) return forward(content);
  return Loaded{.version = checkpoint.version,
                .content = *std::move(content),
                .done_since = *std::move(done),
                .missing = told.missing};
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
}  // namespace checkpointing

using checkpointing::HeldLog;

struct Checkpointer::Parts {
  Parts(Store& a_store, const CheckpointerOptions& options)
      : store(a_store),
        sources(options.clock, options.ids),
        holdings(store, {.lease_time = options.lease_time,
                         .clock = &sources.clock,
                         .ids = &sources.ids,
                         .pid = options.pid}) {}

  Store& store;
  GuardedSources sources;
  checkpointing::Holdings holdings;
};

Checkpointer::Checkpointer(Store& store, const CheckpointerOptions& options)
    : parts_(new Parts(store, options)) {}

Checkpointer::~Checkpointer() = default;

const RawJson& Checkpointer::no_messages() {
  static const RawJson none = RawJson::from_value(Json::Array{});
  return none;
}

Result<void> Checkpointer::start_session(const SessionId& session, const RawJson& opening) {
  auto messages = checkpointing::messages_of(opening);
  if (!messages) return forward(messages);
  const auto begin = [&](HeldLog& held) { return checkpointing::begin(held, *messages); };
  auto begun = parts_->holdings.with_taken(session, begin);
  if (begun || begun.error().code != ErrorCode::not_found) return begun;
  auto made = parts_->holdings.begin(session, *messages);
  if (made || made.error().code != ErrorCode::already_exists) return made;
  return parts_->holdings.with_taken(session, begin);
}

Result<Version> Checkpointer::save_checkpoint(const SessionId& session, const Content& content) {
  return parts_->holdings.with_held(session, [&](HeldLog& held) -> Result<Version> {
    auto entries = checkpointing::changes_to(held.told(), content);
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
  return parts_->holdings.with_held(
      session, [&](HeldLog& held) { return checkpointing::issue(parts_->store, held, call); });
}

Result<void> Checkpointer::record_tool_call_result(const SessionId& session, Position call,
                                                   const ToolOutcome& outcome,
                                                   const std::string& who) {
  return parts_->holdings.with_held(session, [&](HeldLog& held) -> Result<void> {
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
  auto operation = checkpointing::operation_of(call, {.session = session, .origin = **origin});
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
    return parts_->holdings.with_taken(session, [&](HeldLog& held) {
      return checkpointing::loaded_of(store, session, held.told());
    });
  }
  auto told = checkpointing::read_told(store, session, Point::head());
  if (!told) return forward(told);
  return checkpointing::loaded_of(store, session, *told);
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
  return parts_->holdings.with_held(session, [&](HeldLog& held) -> Result<void> {
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
  auto told = checkpointing::read_told(store, session, as_of);
  if (!told) return forward(told);
  auto content = checkpointing::content_of(*told);
  if (!content) return forward(content);
  Checkpointer::Loaded loaded{.content = *std::move(content), .missing = told->missing};
  if (as_of.kind() == Point::Kind::version) loaded.version = as_of.number();
  return loaded;
}

}  // namespace perdure
