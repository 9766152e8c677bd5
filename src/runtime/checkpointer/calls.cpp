// Calls, from the ledger and the log to a checkpointer's words.

#include "checkpointer/calls.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/key.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/call_records.hpp"
#include "perdure/runtime/checkpointer.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/store.hpp"

namespace perdure::checkpointing {
namespace {

constexpr const char* calls_channel = "tool_calls";
constexpr const char* error_kind = "error";

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
  if (const auto* doubtful = std::get_if<Doubtful>(&outcome)) {
    return {CallState::in_doubt, "doubt", doubtful->why};
  }
  const auto& succeeded = std::get<Succeeded>(outcome);
  return {CallState::succeeded, succeeded.is_error ? error_kind : "result", succeeded.content};
}

bool is_gone(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::corrupted;
}

// Empty: erased, damaged, pruned, or gone with its session.
Result<std::optional<Entry>> find_entry(Store& store, const SessionId& session, Position place) {
  if (place == 0) return std::nullopt;
  auto found = store.log().read(
      session, {.as_of = Point::position(place), .from = place, .to = place, .limit = 1});
  if (!found && found.error().code == ErrorCode::not_found) return std::nullopt;
  if (!found) return forward(found);
  if (found->empty() || found->front().condition != Condition::intact) return std::nullopt;
  Entry entry = std::move(found->front());
  if (const auto blob = entry.body.blob()) {
    auto bytes = store.blobs().get(*blob);
    if (!bytes && is_gone(bytes.error().code)) return std::nullopt;
    if (!bytes) return forward(bytes);
    entry.body = Body::from_text(*std::move(bytes));
  }
  return entry;
}

struct Ran {
  std::string text{};
  bool is_error = false;
};

std::optional<Ran> ran_of(const Entry& entry, const Call& call) {
  if (entry.channel == calls_channel) return Ran{entry.body.bytes(), entry.kind == error_kind};
  auto message = message_from_json(entry.body.bytes());
  if (!message) return std::nullopt;
  for (Block& block : message->blocks) {
    auto* result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr) continue;
    const auto outcome = outcome_of(*result);
    if (outcome && outcome->call == call.position) {
      return Ran{std::move(result->content), result->is_error};
    }
  }
  return std::nullopt;
}

std::optional<std::string> args_of(const Entry& entry, const Call& call) {
  if (entry.channel == calls_channel) return entry.body.bytes();
  if (entry.channel == "calls") {
    auto intent = intent_from_json(entry.body.bytes());
    return intent ? std::move(intent->args) : std::nullopt;
  }
  auto message = message_from_json(entry.body.bytes());
  if (!message) return std::nullopt;
  for (Block& block : message->blocks) {
    auto* asked = std::get_if<ToolCallBlock>(&block);
    if (asked != nullptr && asked->id == call.provider_id) return std::move(asked->args);
  }
  return std::nullopt;
}

Result<std::optional<std::string>> read_args(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.args);
  if (!entry) return forward(entry);
  return *entry ? args_of(**entry, call) : std::nullopt;
}

Result<std::optional<Ran>> read_result(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.result.value_or(0));
  if (!entry) return forward(entry);
  return *entry ? ran_of(**entry, call) : std::nullopt;
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
  return dispatch::operation_of(
      tool_of(call), call.args.value(),
      {.session = site.session.text(), .call = site.call, .root = site.root});
}

Batch issue_of(const Checkpointer::ToolCall& call, Position at, const Digest& key) {
  Batch batch;
  batch.entries = {
      {.channel = calls_channel, .kind = "issued", .body = Body::from_text(call.args.text())}};
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
      {.channel = calls_channel, .kind = ending.kind, .body = Body::from_text(ending.text)}};
  batch.calls = {Settle{.call = call, .state = ending.state, .result = at, .who = who}};
  return batch;
}

Result<bool> is_outcome(Store& store, const Call& call, const ToolOutcome& outcome) {
  const Ending ending = ending_of(outcome);
  if (call.state != ending.state) return false;
  // Nothing new is said by doubting twice.
  if (call.state == CallState::in_doubt) return true;
  auto ran = read_result(store, call);
  if (!ran) return forward(ran);
  const bool is_error = ending.kind == std::string_view(error_kind);
  return *ran && (*ran)->text == ending.text && (*ran)->is_error == is_error;
}

Result<Checkpointer::Completed> completed(Store& store, const Call& call) {
  auto ran = read_result(store, call);
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
  auto args = read_args(store, call);
  if (!args) return forward(args);
  auto doubt = read_result(store, call);
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
  if (call.key) told.idempotency_key = to_hex(*call.key);
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
  auto args = read_args(store, holder);
  if (!args) return forward(args);
  const auto there = *args ? RawJson::from_text(**args) : RawJson();
  // What is gone cannot be compared; the key alone says that it is the same.
  if (!*args || !there) return {};
  Checkpointer::ToolCall first = call;
  first.args = *there;
  const auto known = operation_of(first, {.session = holder.session, .call = holder.position});
  if (known && known->args == operation.args) return {};
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("call {} has the same business key, and other arguments", name), name);
}

}  // namespace perdure::checkpointing
