// The input of a request is told before it is recorded, and recorded as it was told: the next time
// it is one of the messages that are kept.

#include "loop/conversation.hpp"

#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <variant>
#include <vector>

#include "loop/marks.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/history.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

namespace {

// What is told at once. More is more memory; less is more parts, each of which costs a digest of the
// body's head, and its last message written twice.
constexpr std::size_t part_bytes = std::size_t{1} << 17U;

// What one model thought is signed for it alone: another refuses the whole conversation for it.
void drop_foreign_reasoning(std::vector<Message>& messages, const std::string& model) {
  for (Message& message : messages) {
    const std::string asked = loop::asked_model_of(message);
    if (asked.empty() || asked == model) continue;
    std::erase_if(message.blocks,
                  [](const Block& block) { return std::holds_alternative<ReasoningBlock>(block); });
  }
}

// By this model, since it was first asked or last exchanged; a response that was cut off counts nothing.
CountedBody counted_last(const State& state, const std::string& model) {
  for (const PlacedMessage& placed : std::views::reverse(state.transcript)) {
    const std::string asked = loop::asked_model_of(placed.message);
    if (!asked.empty() && asked != model) break;
    const CountedBody counted = loop::counted_in(placed.message);
    if (counted.tokens > 0) return counted;
  }
  return {};
}

}  // namespace

Result<PreparedRequest> Conversation::prepare(const Setup& setup, const State& state,
                                              const std::optional<Message>& input) {
  if (setup.model != model_) {
    history_ = {};
    told_ = 0;
    input_.reset();
    model_ = setup.model;
  }
  for (;;) {
    HistoryNews news = history_.update(state, part_bytes);
    drop_foreign_reasoning(news.added, model_);
    const bool has_input =
        input_ && news.kept == told_ && !news.added.empty() && news.added.front() == *input_;
    told_ = news.kept + news.added.size();
    input_.reset();
    if (has_input) {
      news.added.erase(news.added.begin());
      ++news.kept;
    }
    if (input && !news.has_more) news.added.push_back(*input);
    auto prepared =
        provider_->prepare({.setup = setup,
                            .kept = news.kept,
                            .messages = news.added,
                            .counted = news.kept == 0 ? counted_last(state, model_) : CountedBody{},
                            .is_capped = state.budget.totals.limit.has_value()});
    if (!prepared) {
      history_ = {};
      told_ = 0;
      return prepared;
    }
    if (news.has_more) continue;
    input_ = input;
    return prepared;
  }
}

}  // namespace perdure
