// What is kept of the conversation is what the caller says is kept: one that is wrong about it
// is told of a conversation that nobody had.

#include "agent/bought_model.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/records.hpp"
#include "world/client.hpp"

namespace perdure::agents {

namespace {

constexpr std::string_view again = "again_";

// As make_scripted's responses cost.
constexpr ModelUsage usage{.is_known = true, .tokens_in = 60, .tokens_out = 40};

bool is_of_repeat(const Block& block) {
  const auto* const call = std::get_if<ToolCallBlock>(&block);
  const auto* const result = std::get_if<ToolResultBlock>(&block);
  return (call != nullptr && call->id.starts_with(again)) ||
         (result != nullptr && result->call_id.starts_with(again));
}

std::vector<Message> without_repeats(std::vector<Message> conversation) {
  for (Message& message : conversation) std::erase_if(message.blocks, is_of_repeat);
  std::erase_if(conversation, [](const Message& message) { return message.blocks.empty(); });
  return conversation;
}

bool has_failed(const Message& told, const std::string& call) {
  return std::ranges::any_of(told.blocks, [&](const Block& block) {
    const auto* const result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr || result->call_id != call) return false;
    const auto outcome = outcome_of(*result);
    return outcome && outcome->state == CallState::failed;
  });
}

// Of the last response; without blocks: none of it failed.
Message repeat_of(const std::vector<Message>& conversation) {
  Message repeat{.role = Role::assistant};
  if (conversation.size() < 2) return repeat;
  for (const Block& block : conversation[conversation.size() - 2].blocks) {
    const auto* const call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr || !has_failed(conversation.back(), call->id)) continue;
    repeat.blocks.emplace_back(
        ToolCallBlock{.id = std::string(again) + std::to_string(repeat.blocks.size()),
                      .name = call->name,
                      .args = call->args});
  }
  return repeat;
}

}  // namespace

std::string response_op(std::size_t number) { return "response-" + std::to_string(number); }

bool asks_again(const Message& response) {
  return response.role == Role::assistant && std::ranges::any_of(response.blocks, is_of_repeat);
}

BoughtModel::BoughtModel(std::unique_ptr<Provider> real, WorldClient world,
                         std::function<void(const std::vector<Message>&)> told)
    : real_(std::move(real)), world_(std::move(world)), told_(std::move(told)) {}

Result<PreparedRequest> BoughtModel::prepare(const ModelRequest& request) {
  if (request.kept > conversation_.size()) {
    return fail(ErrorCode::invalid_argument, "more is kept than there is");
  }
  conversation_.resize(request.kept);
  conversation_.insert(conversation_.end(), request.messages.begin(), request.messages.end());
  const std::vector<Message> heard = without_repeats(conversation_);
  ModelRequest whole = request;
  whole.kept = 0;
  whole.messages = heard;
  return real_->prepare(whole);
}

ModelOutcome BoughtModel::send(ModelObserver& observer, std::stop_token stop) {
  told_(conversation_);
  const auto said = std::ranges::count(conversation_, Role::assistant, &Message::role);
  const std::string op = response_op(static_cast<std::size_t>(said));
  const auto reply = world_.effect({.op = op, .tool = "model"}, stop);
  if (!std::holds_alternative<world::Answered>(reply)) {
    return NotAnswered{.error = {ErrorCode::unavailable, "the model did not answer", ""},
                       .may_be_paid = true};
  }
  Message repeat = repeat_of(conversation_);
  if (repeat.blocks.empty()) return real_->send(observer, std::move(stop));
  return ModelResponse{.message = std::move(repeat), .stop = StopReason::calls, .usage = usage};
}

}  // namespace perdure::agents
