// The input of a request is passed on before it is recorded, and recorded as it was passed on: next
// time it is one of the messages that are kept.

#include <cstddef>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "loop/history.hpp"
#include "loop/turn.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/read.hpp"

namespace perdure {

namespace {

// How much is passed on at once. More is more memory; less is more parts, each of which costs a
// digest of the body's head, and its last message written twice.
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

// Of a response while it streams: what is known of it if its provider throws.
class Heard final : public ModelObserver {
 public:
  explicit Heard(ModelObserver& observer) : observer_(observer) {}

  void on_text(std::string_view piece) override {
    add<TextBlock>(piece);
    observer_.on_text(piece);
  }
  void on_reasoning(std::string_view piece) override {
    add<ReasoningBlock>(piece);
    observer_.on_reasoning(piece);
  }
  void on_call(const ToolCallBlock& call) override {
    message_.blocks.emplace_back(call);
    observer_.on_call(call);
  }
  void on_retry(const RetryNotice& notice) override { observer_.on_retry(notice); }

  /// What came of the request, if its provider ended with `error`.
  [[nodiscard]] ModelOutcome ended_by(Error error, bool was_stopped) && {
    if (message_.blocks.empty()) {
      return NotAnswered{
          .error = std::move(error), .may_be_paid = true, .was_stopped = was_stopped};
    }
    return CutOff{.so_far = {.message = std::move(message_)},
                  .error = std::move(error),
                  .was_stopped = was_stopped};
  }

 private:
  template <class Kind>
  void add(std::string_view piece) {
    const bool goes_on =
        !message_.blocks.empty() && std::holds_alternative<Kind>(message_.blocks.back());
    if (!goes_on) message_.blocks.emplace_back(Kind{});
    std::get<Kind>(message_.blocks.back()).text += piece;
  }

  ModelObserver& observer_;
  Message message_{.role = Role::assistant, .is_partial = true};
};

// By this model, since it was first asked or last exchanged; a response that was cut off counts
// nothing.
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
    forget();
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
    const ModelRequest request{
        .setup = setup,
        .kept = news.kept,
        .messages = news.added,
        .counted = news.kept == 0 ? counted_last(state, model_) : CountedBody{},
        .is_capped = state.budget.totals.limit.has_value()};
    auto prepared =
        guarded("the provider's `prepare`", [&] { return provider_->prepare(request); });
    if (!prepared) {
      forget();
      return prepared;
    }
    if (news.has_more) continue;
    input_ = input;
    return prepared;
  }
}

ModelOutcome Conversation::send(ModelObserver& observer, const std::stop_token& stop) {
  Heard heard(observer);
  auto outcome = guarded("the provider's `send`", [&] { return provider_->send(heard, stop); });
  if (outcome) return *std::move(outcome);
  forget();  // What it still has of the conversation is unknown.
  return std::move(heard).ended_by(std::move(outcome).error(), stop.stop_requested());
}

void Conversation::forget() {
  history_ = {};
  told_ = 0;
  input_.reset();
}

}  // namespace perdure
