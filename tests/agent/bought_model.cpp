// What is kept of the conversation is what the caller says is kept: one that is wrong about it
// is told of a conversation that nobody had.

#include "agent/bought_model.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"
#include "world/client.hpp"

namespace perdure::agents {

std::string response_op(std::size_t number) { return "response-" + std::to_string(number); }

BoughtModel::BoughtModel(std::unique_ptr<Provider> real, WorldClient world,
                         std::function<void(const std::vector<Message>&)> told)
    : real_(std::move(real)), world_(std::move(world)), told_(std::move(told)) {}

Result<PreparedRequest> BoughtModel::prepare(const ModelRequest& request) {
  if (request.kept > conversation_.size()) {
    return fail(ErrorCode::invalid_argument, "more is kept than there is");
  }
  conversation_.resize(request.kept);
  conversation_.insert(conversation_.end(), request.messages.begin(), request.messages.end());
  return real_->prepare(request);
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
  return real_->send(observer, std::move(stop));
}

}  // namespace perdure::agents
