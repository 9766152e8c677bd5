// The scripted provider: which response is next follows from the conversation alone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/body.hpp"
#include "models/dialect.hpp"
#include "models/quiet_observer.hpp"
#include "models/script.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
namespace {

// Where the script counts no tokens: a number that is the same every time.
constexpr std::int64_t bytes_per_scripted_token = 4;
constexpr std::int64_t scripted_tokens_out = 8192;

// A script needs no format of a vendor's; ours has all there is.
class ScriptFormat final : public BodyFormat {
 public:
  [[nodiscard]] Result<std::string> head(const Setup& setup) const override {
    return R"({"setup":)" + to_json(setup) + R"(,"messages":[)";
  }
  [[nodiscard]] std::string message(const Message& message) const override {
    return to_json(message);
  }
  [[nodiscard]] std::string last_message(const Message& message) const override {
    return to_json(message);
  }
};

void tell(ModelObserver& observer, const Message& message) {
  for (const Block& block : message.blocks) {
    if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) {
      observer.on_reasoning(reasoning->text);
    } else if (const auto* text = std::get_if<TextBlock>(&block)) {
      observer.on_text(text->text);
    } else if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      observer.on_call(*call);
    }
  }
}

class ScriptedProvider final : public Provider {
 public:
  explicit ScriptedProvider(std::vector<ScriptedResponse> script) : script_(std::move(script)) {}

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override;
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override;

 private:
  [[nodiscard]] std::size_t answered() const { return said_.empty() ? 0 : said_.back(); }

  std::vector<ScriptedResponse> script_;
  ScriptFormat format_;
  RequestBody body_{format_};
  // After each message: how many of the assistant there are up to it.
  std::vector<std::size_t> said_;
  std::vector<std::size_t> failed_ = std::vector<std::size_t>(script_.size());
};

Result<PreparedRequest> ScriptedProvider::prepare(const ModelRequest& request) {
  if (auto updated = body_.update(request); !updated) {
    said_.clear();
    return forward(updated);
  }
  said_.resize(request.kept);
  for (const Message& message : request.messages) {
    said_.push_back(answered() + (message.role == Role::assistant ? 1 : 0));
  }
  return PreparedRequest{
      .digest = body_.digest(),
      .bytes = body_.bytes(),
      .tokens_in = static_cast<std::int64_t>(body_.bytes()) / bytes_per_scripted_token,
      .tokens_out = scripted_tokens_out};
}

ModelOutcome ScriptedProvider::send(ModelObserver& observer, std::stop_token stop) {
  const std::size_t index = answered();
  if (body_.is_empty() || index >= script_.size()) {
    return NotAnswered{.error = {ErrorCode::invalid_argument,
                                 "the script has " + std::to_string(script_.size()) +
                                     " responses, and none at index " + std::to_string(index),
                                 ""}};
  }
  const ScriptedResponse& scripted = script_[index];
  if (stop.stop_requested()) {
    return NotAnswered{.error = {ErrorCode::unavailable, "stopped", ""}, .was_stopped = true};
  }
  if (failed_[index] < scripted.fails.size()) return scripted.fails[failed_[index]++];
  ModelResponse response = scripted.response;
  if (!scripted.has_usage) {
    const auto out = static_cast<std::int64_t>(to_json(response.message).size());
    response.usage.tokens_in = static_cast<std::int64_t>(body_.bytes()) / bytes_per_scripted_token;
    response.usage.tokens_out = out / bytes_per_scripted_token;
  }
  QuietObserver quiet(observer);
  tell(quiet, response.message);
  if (!scripted.cut_off) return response;
  response.message.is_partial = true;
  response.usage.is_known = false;
  return CutOff{.so_far = std::move(response),
                .error = {ErrorCode::unavailable, *scripted.cut_off, ""}};
}

}  // namespace

Result<std::unique_ptr<Provider>> make_scripted(std::string_view script) {
  auto responses = script_from_json(script);
  if (!responses) return forward(responses);
  return std::make_unique<ScriptedProvider>(*std::move(responses));
}

}  // namespace perdure
