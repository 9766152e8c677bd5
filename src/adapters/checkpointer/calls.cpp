// Calls, from the ledger and the log to a checkpointer's words.

#include "checkpointer/calls.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/key.hpp"
#include "runtime/api/recorded.hpp"

namespace perdure::checkpointing {
namespace {

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

}  // namespace

Result<dispatch::Operation> operation_of(const Checkpointer::ToolCall& call, const Site& site) {
  return dispatch::operation_of(tool_of(call), call.args.value(),
                                {.session = site.session.text(),
                                 .call = site.call,
                                 .nonce = site.nonce,
                                 .root = site.origin.root,
                                 .root_nonce = site.origin.nonce});
}

Result<std::int64_t> failures_of(Store& store, const Digest& key) {
  auto calls = store.ledger().by_key(key);
  if (!calls) return forward(calls);
  std::int64_t failures = 0;
  for (const Call& call : *calls) failures += call.failures;
  return failures;
}

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

Batch result_of(Position call, const ToolOutcome& outcome, Position at, const std::string& who) {
  const Ending ending = ending_of(outcome);
  Batch batch;
  batch.entries = {
      {.channel = book_channel, .kind = ending.kind, .body = Body::from_text(ending.text)}};
  batch.calls = {Settle{.call = call, .state = ending.state, .result = at, .who = who}};
  return batch;
}

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

Result<std::string> key_at_vendor(Store& store, const Call& call) {
  auto recorded = dispatch::recorded_generation(store, call);
  if (!recorded) return forward(recorded);
  if (*recorded) return dispatch::vendor_key(*call.key, **recorded);
  auto failures = failures_of(store, *call.key);
  if (!failures) return forward(failures);
  return dispatch::vendor_key(*call.key, *failures);
}

Result<bool> is_outcome(Store& store, const Call& call, const ToolOutcome& outcome) {
  const Ending ending = ending_of(outcome);
  if (call.state != ending.state) return false;
  // Nothing new is said by doubting twice.
  if (call.state == CallState::in_doubt) return true;
  auto ran = dispatch::recorded_result(store, call);
  if (!ran) return forward(ran);
  const bool is_error = ending.kind == std::string_view(book_error_kind);
  return *ran && (*ran)->text == ending.text && (*ran)->is_error == is_error;
}

Result<Checkpointer::Completed> completed(Store& store, const Call& call) {
  auto ran = dispatch::recorded_result(store, call);
  if (!ran) return forward(ran);
  Checkpointer::Completed told{.session = call.session,
                               .call = call.position,
                               .call_id = call.provider_id,
                               .tool_name = call.tool};
  if (*ran) {
    told.result = std::move((*ran)->text);
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
  if (told.why.empty() && *doubt) told.why = std::move((*doubt)->text);
  if (call.state == CallState::dispatched) {
    auto row = store.sessions().read(call.session);
    if (!row) return forward(row);
    const auto& holder = row->holder;
    told.is_running = holder && holder->alive && holder->fence == call.fence;
  }
  return told;
}

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

}  // namespace perdure::checkpointing
