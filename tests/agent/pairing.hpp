// What providers ask of a conversation: each call is answered by the very next message.

#pragma once

#include <string>
#include <variant>
#include <vector>

#include "perdure/runtime/state.hpp"

namespace perdure::agents {

[[nodiscard]] inline bool is_paired(const std::vector<Message>& messages) {
  std::vector<std::string> open;
  for (const Message& message : messages) {
    std::vector<std::string> calls;
    std::vector<std::string> results;
    for (const Block& block : message.blocks) {
      if (const auto* call = std::get_if<ToolCallBlock>(&block)) calls.push_back(call->id);
      if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
        results.push_back(result->call_id);
      }
    }
    if (results != open) return false;
    open = std::move(calls);
  }
  return open.empty();
}

}  // namespace perdure::agents
