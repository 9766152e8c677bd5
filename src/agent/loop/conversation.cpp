// The input of a request is told before it is recorded, and recorded as it was told: the next time
// it is one of the messages that are kept.

#include "loop/conversation.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/history.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

Result<PreparedRequest> Conversation::prepare(const Setup& setup, const State& state,
                                              const std::optional<Message>& input) {
  HistoryNews news = history_.update(state);
  const bool has_input =
      input_ && news.kept == told_ && !news.added.empty() && news.added.front() == *input_;
  told_ = news.kept + news.added.size();
  input_ = input;
  if (has_input) {
    news.added.erase(news.added.begin());
    ++news.kept;
  }
  if (input) news.added.push_back(*input);
  auto prepared = provider_->prepare({.setup = setup, .kept = news.kept, .messages = news.added});
  if (!prepared) {
    history_ = {};
    told_ = 0;
    input_.reset();
  }
  return prepared;
}

}  // namespace perdure
