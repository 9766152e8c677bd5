// Makes logs for the tests of the fold: entries of every channel, in order.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

class LogOf {
 public:
  /// Returns the position of the entry.
  Position add(std::string channel, std::string kind, std::string text, Fold how = Fold::append) {
    Entry& entry = entries_.emplace_back();
    entry.position = entries_.size();
    entry.channel = std::move(channel);
    entry.kind = std::move(kind);
    entry.fold = how;
    entry.body = Body::from_text(std::move(text));
    entry.hash = sha256(entry.body.bytes());
    return entry.position;
  }

  Position say(const Message& message) { return add("transcript", "message", to_json(message)); }

  Position intend(Position message, std::uint64_t block, const std::string& tool = "pay") {
    return add("calls", "intent",
               to_json(OpenCall{.message = message, .block = block, .tool = tool}));
  }

  /// One call a name: "c1" asks for a call with that id.
  Position ask(const std::vector<std::string>& ids) {
    Message message = assistant_says("Let me see.");
    for (const std::string& id : ids) {
      message.blocks.emplace_back(ToolCallBlock{.id = id, .name = "pay"});
    }
    return say(message);
  }

  Position answer(const std::string& id, Position call, CallState outcome,
                  const std::string& content = "done") {
    ToolResultBlock result{.call_id = id, .content = content};
    if (call != 0) set_outcome(result, {.call = call, .state = outcome});
    Message message;
    message.blocks.emplace_back(std::move(result));
    return say(message);
  }

  [[nodiscard]] State state() const {
    State state;
    for (const Entry& entry : entries_) fold(state, entry);
    return state;
  }

  std::vector<Entry>& entries() { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace perdure
