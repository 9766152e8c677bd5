// The scripted provider: which response is next follows from the conversation alone.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "core/api/error_codes.hpp"
#include "core/api/json_text.hpp"
#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure {

namespace {

// A script is written by hand, so whatever is not understood in it is refused by name: a misspelt
// "cals" would otherwise be a model that calls nothing.
constexpr std::string_view script_schema = R"({
  "type": "object", "additionalProperties": false,
  "properties": {"responses": {"type": "array", "items": {
    "type": "object", "additionalProperties": false,
    "properties": {
      "reasoning": {"type": "string"}, "text": {"type": "string"}, "model": {"type": "string"},
      "calls": {"type": "array", "items": {
        "type": "object", "additionalProperties": false, "required": ["name"],
        "properties": {"id": {"type": "string"}, "name": {"type": "string", "minLength": 1},
                       "args": true}}},
      "stop": {"enum": ["end", "calls", "length", "refusal", "paused", "other"]},
      "usage": {
        "type": "object", "additionalProperties": false,
        "properties": {"in": {"$ref": "#/$defs/count"}, "out": {"$ref": "#/$defs/count"},
                       "cache_read": {"$ref": "#/$defs/count"},
                       "cache_write": {"$ref": "#/$defs/count"},
                       "reasoning": {"$ref": "#/$defs/count"}}},
      "fails": {"type": "array", "items": {
        "type": "object", "additionalProperties": false,
        "properties": {"code": {"type": "string"}, "message": {"type": "string"},
                       "may_be_paid": {"type": "boolean"}, "status": {"$ref": "#/$defs/count"}}}},
      "cut_off": {"type": "string"}}}}},
  "$defs": {"count": {"type": "integer", "minimum": 0}}})";

std::unexpected<Error> misread(std::string_view at, std::string_view what) {
  return fail(ErrorCode::invalid_argument, fmt::format("the script: {} {}", at, what),
              std::string(at));
}

struct ScriptedResponse {
  ModelResponse response{};
  bool has_usage = false;
  std::vector<NotAnswered> fails{};
  std::optional<std::string> cut_off{};
};

Json::Array list_in(const Json& json, std::string_view key) {
  const Json* const list = json.find(key);
  return list == nullptr ? Json::Array() : *list->as_array();
}

// The blocks in the order in which a model says them, whatever the script's order is.
Message message_in(const Json& json) {
  Message message{.role = Role::assistant};
  if (auto text = text_in(json, "reasoning"); !text.empty()) {
    message.blocks.emplace_back(ReasoningBlock{.text = std::move(text)});
  }
  if (auto text = text_in(json, "text"); !text.empty()) {
    message.blocks.emplace_back(TextBlock{.text = std::move(text)});
  }
  std::size_t number = 0;
  for (const Json& said : list_in(json, "calls")) {
    ToolCallBlock call{.id = text_in(said, "id"), .name = text_in(said, "name")};
    ++number;
    if (call.id.empty()) call.id = fmt::format("call_{}", number);
    // A text is what the model wrote, whatever it is; anything else is its JSON.
    if (const Json* const args = said.find("args")) {
      call.args = args->is_string() ? *args->as_string() : args->text();
    }
    message.blocks.emplace_back(std::move(call));
  }
  return message;
}

NotAnswered failure_in(const Json& json) {
  NotAnswered failure{.error = {ErrorCode::unavailable, "the script fails here", ""}};
  failure.error.code = error_code_from(text_in(json, "code")).value_or(ErrorCode::unavailable);
  if (json.find("message") != nullptr) failure.error.message = text_in(json, "message");
  const Json* const may_be_paid = json.find("may_be_paid");
  failure.may_be_paid = may_be_paid != nullptr && *may_be_paid->as_bool();
  failure.status = static_cast<int>(wire::number_in(json, "status") % 1000);
  return failure;
}

ScriptedResponse response_in(const Json& json) {
  ScriptedResponse scripted;
  ModelResponse& response = scripted.response;
  response.message = message_in(json);
  response.model = json.find("model") == nullptr ? "scripted" : text_in(json, "model");
  response.stop_text = text_in(json, "stop");
  if (response.stop_text.empty()) {
    response.stop_text = list_in(json, "calls").empty() ? "end" : "calls";
  }
  response.stop = wire::find_stop_reason(response.stop_text).value_or(StopReason::other);
  response.usage.is_known = true;
  if (const Json* const usage = json.find("usage")) {
    scripted.has_usage = true;
    response.usage = {.is_known = true,
                      .tokens_in = wire::number_in(*usage, "in"),
                      .tokens_out = wire::number_in(*usage, "out"),
                      .cache_read = wire::number_in(*usage, "cache_read"),
                      .cache_write = wire::number_in(*usage, "cache_write"),
                      .reasoning = wire::number_in(*usage, "reasoning")};
  }
  for (const Json& failure : list_in(json, "fails")) scripted.fails.push_back(failure_in(failure));
  if (json.find("cut_off") != nullptr) scripted.cut_off = text_in(json, "cut_off");
  return scripted;
}

// Fails: `invalid_argument`, with the place in the script.
Result<std::vector<ScriptedResponse>> script_from_json(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return forward(json);
  // Compiled in, so it is right or the tests fail.
  static const JsonSchema schema = JsonSchema::compile(parse_json(script_schema).value()).value();
  if (const auto errors = schema.check(*json); !errors.empty()) {
    return misread(errors.front().at, errors.front().message);
  }
  std::vector<ScriptedResponse> script;
  for (const Json& response : list_in(*json, "responses")) {
    for (const Json& failure : list_in(response, "fails")) {
      const std::string code = text_in(failure, "code");
      if (code.empty() || error_code_from(code)) continue;
      return misread(fmt::format("/responses/{}/fails", script.size()),
                     fmt::format("has a code that is no error's: {}", code));
    }
    script.push_back(response_in(response));
  }
  return script;
}

// Where the script counts no tokens: a number that is the same every time.
constexpr std::int64_t bytes_per_scripted_token = 4;
constexpr std::int64_t scripted_tokens_out = 8192;

// A script needs no format of a vendor's; ours has all there is.
class ScriptFormat final : public BodyFormat {
 public:
  [[nodiscard]] Result<std::string> head(const Setup& setup) const override {
    return R"({"setup":)" + to_json(setup) + R"(,"messages":[)";
  }
  [[nodiscard]] std::string message(const Message& message, bool /*is_last*/) const override {
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

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
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

  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
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
      response.usage.tokens_in =
          static_cast<std::int64_t>(body_.bytes()) / bytes_per_scripted_token;
      response.usage.tokens_out = out / bytes_per_scripted_token;
    }
    auto quiet = quiet_observer(observer);
    tell(quiet, response.message);
    if (!scripted.cut_off) return response;
    response.message.is_partial = true;
    response.usage.is_known = false;
    return CutOff{.so_far = std::move(response),
                  .error = {ErrorCode::unavailable, *scripted.cut_off, ""}};
  }

 private:
  [[nodiscard]] std::size_t answered() const { return said_.empty() ? 0 : said_.back(); }

  std::vector<ScriptedResponse> script_;
  ScriptFormat format_;
  RequestBody body_{format_};
  // After each message: how many of the assistant there are up to it.
  std::vector<std::size_t> said_;
  std::vector<std::size_t> failed_ = std::vector<std::size_t>(script_.size());
};

}  // namespace

Result<std::unique_ptr<Provider>> make_scripted(std::string_view script) {
  auto responses = script_from_json(script);
  if (!responses) return forward(responses);
  return std::make_unique<ScriptedProvider>(*std::move(responses));
}

}  // namespace perdure
