// A call that is refused has its row in the ledger too: what was asked for is not lost.

#include "dispatch/intents.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "dispatch/facts.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/key.hpp"
#include "runtime/api/records.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

// What the call is, or in words why it cannot be made.
struct Reading {
  std::shared_ptr<const Json> args{};
  std::optional<Operation> operation{};
  std::string refusal{};
  std::optional<PermitDecision> permission{};  ///< Empty: the policy threw.
};

Reading read_call(SessionWriter& writer, const Tool* tool, const ProposedCall& proposed,
                  Position call) {
  Reading reading;
  const ToolCallBlock& block = proposed.call();
  if (auto said = ask_policy(writer.deps().policy, writer.state(), proposed)) {
    reading.permission = *std::move(said);
  }
  if (reading.permission && reading.permission->permit == Permit::deny) {
    reading.refusal = reading.permission->why;
    return reading;
  }
  if (tool == nullptr) {
    reading.refusal = fmt::format("There is no tool {}.", block.name);
    return reading;
  }
  auto args = parse_args(block.args);
  if (!args || !args->is_object()) {
    reading.refusal = "The arguments are not a JSON object.";
    return reading;
  }
  const auto& origin = writer.state().origin;
  auto operation = operation_of(*tool, *args,
                                {.session = writer.lease().session.text(),
                                 .call = call,
                                 .nonce = writer.nonce(),
                                 .root = origin ? origin->root : writer.lease().session.text(),
                                 .root_nonce = origin ? origin->nonce : ""});
  if (!operation) {
    reading.refusal = operation.error().message;
    return reading;
  }
  reading.args = std::make_shared<const Json>(*std::move(args));
  reading.operation = *std::move(operation);
  return reading;
}

// Two reads are never one operation, unless the tool says so.
bool needs_key(const Tool& tool, EffectClass effect) {
  return effect != EffectClass::read_only || tool.repeat != Repeat::each_call;
}

CallView view_of(SessionWriter& writer, const ToolCallBlock& block, const Reading& reading,
                 const Tool* tool) {
  CallView view{.tool = tool,
                .args = reading.args,
                .permission = reading.permission,
                .is_put_off = !reading.permission};
  if (reading.permission) view.open.permission = *reading.permission;
  view.open.tool = block.name;
  view.open.provider_id = block.id;
  view.open.nonce = writer.nonce();
  view.open.args_digest = reading.operation ? reading.operation->args : sha256(block.args);
  if (tool != nullptr) view.open.repeat = to_string(tool->repeat);
  if (reading.operation) {
    view.open.scope = reading.operation->scope;
    view.open.operation = reading.operation->name;
  }
  view.row.session = writer.lease().session;
  view.row.tool = block.name;
  view.row.provider_id = block.id;
  view.row.effect = tool != nullptr ? effect_class_of(*tool) : EffectClass::unsafe;
  if (reading.operation && needs_key(*tool, view.row.effect)) view.row.key = reading.operation->key;
  return view;
}

}  // namespace

void write_down(Draft& draft, CallView& view, Position message, std::uint64_t block) {
  view.open.message = message;
  view.open.block = block;
  const Intent intent{.message = message,
                      .block = block,
                      .tool = view.open.tool,
                      .provider_id = view.open.provider_id,
                      .args_digest = view.open.args_digest,
                      .operation = view.open.operation,
                      .repeat = view.open.repeat,
                      .scope = view.open.scope,
                      .nonce = view.open.nonce,
                      .permission = view.open.permission};
  view.open.call = draft.add(appending("calls", "intent", to_json(intent)));
  view.row.position = view.open.call;
  view.row.args = message;
  // A model may make up any name and any id; the intent has them as they are.
  draft.batch.calls.emplace_back(
      Intend{.call = view.open.call,
             .args = message,
             .tool = row_name(view.open.tool),
             .provider_id = view.open.provider_id.substr(0, text_bytes_max),
             .effect = view.row.effect,
             .key = view.row.key});
}

std::vector<CallView> intend(SessionWriter& writer, Draft& draft, Position message,
                             const Message& response) {
  std::vector<CallView> calls;
  std::vector<std::pair<CallView, std::string>> refused;
  for (std::size_t i = 0; i < response.blocks.size(); ++i) {
    const auto* block = std::get_if<ToolCallBlock>(&response.blocks[i]);
    if (block == nullptr) continue;
    const Tool* tool = writer.deps().tools.find(block->name);
    const Reading reading =
        read_call(writer, tool, {.response = response, .block = i, .tool = tool}, draft.next());
    CallView view = view_of(writer, *block, reading, tool);
    write_down(draft, view, message, i);
    if (reading.refusal.empty()) {
      calls.push_back(std::move(view));
    } else {
      refused.emplace_back(std::move(view), reading.refusal);
    }
  }
  Records records(writer, draft);
  for (const auto& [view, why] : refused) {
    records.settle(view, CallState::denied, {.content = why, .is_error = true},
                   {.who = "dispatcher", .why = why});
  }
  return calls;
}

}  // namespace perdure::dispatch
