// The scripted provider: which response is next follows from the conversation alone.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/body.hpp"
#include "models/dialect.hpp"
#include "models/quiet_observer.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "runtime/api/records.hpp"

namespace perdure {

struct ScriptedResponse {
  ModelResponse response{};
  bool has_usage = false;
  std::vector<NotAnswered> fails{};
  std::optional<std::string> cut_off{};
};

// A script is written by hand, so whatever is not understood in it is refused by name: a misspelt
// "cals" would otherwise be a model that calls nothing.

namespace {

std::unexpected<Error> misread(const std::string& where, std::string_view wanted) {
  return fail(ErrorCode::invalid_argument,
              "the script: " + where + " must be " + std::string(wanted), where);
}

// What is done with the member of a name, given its value and its place.
using TakeMember = std::function<Result<void>(std::string_view, const Json&, const std::string&)>;

Result<void> each_member(const Json& json, const std::string& where, const TakeMember& take) {
  if (json.as_object() == nullptr) return misread(where, "an object");
  for (const auto& [key, value] : *json.as_object()) {
    std::string place = where;
    place.append(".").append(key);
    if (auto taken = take(key, value, place); !taken) return taken;
  }
  return {};
}

using TakeElement = std::function<Result<void>(const Json&, const std::string&)>;

Result<void> each_element(const Json& json, const std::string& where, const TakeElement& take) {
  if (json.as_array() == nullptr) return misread(where, "a list");
  for (std::size_t i = 0; i < json.as_array()->size(); ++i) {
    const std::string place = where + "[" + std::to_string(i) + "]";
    if (auto taken = take((*json.as_array())[i], place); !taken) return taken;
  }
  return {};
}

Result<void> take_text(const Json& json, const std::string& where, std::string& to) {
  if (json.as_string() == nullptr) return misread(where, "a text");
  to = *json.as_string();
  return {};
}

Result<void> take_number(const Json& json, const std::string& where, std::int64_t& to) {
  const auto number = json.as_int64();
  if (!number || *number < 0) return misread(where, "a number that is not negative");
  to = *number;
  return {};
}

Result<void> take_flag(const Json& json, const std::string& where, bool& to) {
  const auto flag = json.as_bool();
  if (!flag) return misread(where, "true or false");
  to = *flag;
  return {};
}

std::unexpected<Error> unknown_member(const std::string& where) {
  return fail(ErrorCode::invalid_argument, "the script: nobody knows " + where, where);
}

Result<void> take_script_call(const Json& json, const std::string& where, Message& message) {
  ToolCallBlock call;
  call.id = "call_" + std::to_string(message.blocks.size() + 1);
  const auto take = [&](std::string_view key, const Json& value,
                        const std::string& place) -> Result<void> {
    if (key == "id") return take_text(value, place, call.id);
    if (key == "name") return take_text(value, place, call.name);
    if (key != "args") return unknown_member(place);
    // A text is what the model wrote, whatever it is; anything else is its JSON.
    call.args = value.as_string() == nullptr ? value.text() : *value.as_string();
    return {};
  };
  if (auto taken = each_member(json, where, take); !taken) return taken;
  if (call.name.empty()) return misread(where + ".name", "the name of a tool");
  message.blocks.emplace_back(std::move(call));
  return {};
}

Result<void> take_script_usage(const Json& json, const std::string& where, ModelUsage& usage) {
  return each_member(
      json, where,
      [&](std::string_view key, const Json& value, const std::string& place) -> Result<void> {
        if (key == "in") return take_number(value, place, usage.tokens_in);
        if (key == "out") return take_number(value, place, usage.tokens_out);
        if (key == "cache_read") return take_number(value, place, usage.cache_read);
        if (key == "cache_write") return take_number(value, place, usage.cache_write);
        if (key == "reasoning") return take_number(value, place, usage.reasoning);
        return unknown_member(place);
      });
}

Result<void> take_stop(const Json& json, const std::string& where, ModelResponse& response) {
  constexpr std::array reasons = {StopReason::end,     StopReason::calls,  StopReason::length,
                                  StopReason::refusal, StopReason::paused, StopReason::other};
  if (auto taken = take_text(json, where, response.stop_text); !taken) return taken;
  for (const StopReason reason : reasons) {
    if (to_string(reason) != response.stop_text) continue;
    response.stop = reason;
    return {};
  }
  return misread(where, "end, calls, length, refusal, paused or other");
}

Result<void> take_failure(const Json& json, const std::string& where,
                          std::vector<NotAnswered>& fails) {
  NotAnswered failure{.error = {ErrorCode::unavailable, "the script fails here", ""}};
  const auto take = [&](std::string_view key, const Json& value,
                        const std::string& place) -> Result<void> {
    if (key == "message") return take_text(value, place, failure.error.message);
    if (key == "may_be_paid") return take_flag(value, place, failure.may_be_paid);
    if (key == "status") {
      std::int64_t status = 0;
      auto taken = take_number(value, place, status);
      failure.status = static_cast<int>(status % 1000);
      return taken;
    }
    if (key != "code") return unknown_member(place);
    std::string name;
    if (auto taken = take_text(value, place, name); !taken) return taken;
    const auto code = error_code_from(name);
    if (!code) return misread(place, "the name of an error's code");
    failure.error.code = *code;
    return {};
  };
  auto taken = each_member(json, where, take);
  fails.push_back(std::move(failure));
  return taken;
}

// The blocks in the order in which a model says them, whatever the script's order is.
struct ScriptParts {
  std::string reasoning{};
  std::string text{};
  Message calls{};
};

Message message_of(ScriptParts parts) {
  Message message;
  message.role = Role::assistant;
  if (!parts.reasoning.empty()) {
    message.blocks.emplace_back(ReasoningBlock{.text = std::move(parts.reasoning)});
  }
  if (!parts.text.empty()) message.blocks.emplace_back(TextBlock{.text = std::move(parts.text)});
  for (Block& call : parts.calls.blocks) message.blocks.push_back(std::move(call));
  return message;
}

Result<void> take_response_member(std::string_view key, const Json& value, const std::string& place,
                                  ScriptedResponse& to) {
  if (key == "model") return take_text(value, place, to.response.model);
  if (key == "stop") return take_stop(value, place, to.response);
  if (key == "cut_off") return take_text(value, place, to.cut_off.emplace());
  if (key == "usage") {
    to.has_usage = true;
    return take_script_usage(value, place, to.response.usage);
  }
  if (key == "fails") {
    return each_element(value, place, [&](const Json& json, const std::string& where) {
      return take_failure(json, where, to.fails);
    });
  }
  return unknown_member(place);
}

Result<ScriptedResponse> response_from(const Json& json, const std::string& where) {
  ScriptedResponse scripted;
  ScriptParts parts;
  scripted.response.model = "scripted";
  auto read = each_member(
      json, where,
      [&](std::string_view key, const Json& value, const std::string& place) -> Result<void> {
        if (key == "reasoning") return take_text(value, place, parts.reasoning);
        if (key == "text") return take_text(value, place, parts.text);
        if (key != "calls") return take_response_member(key, value, place, scripted);
        return each_element(value, place, [&](const Json& call, const std::string& at) {
          return take_script_call(call, at, parts.calls);
        });
      });
  if (!read) return forward(read);
  if (scripted.response.stop_text.empty()) {
    const bool has_calls = !parts.calls.blocks.empty();
    scripted.response.stop = has_calls ? StopReason::calls : StopReason::end;
    scripted.response.stop_text = to_string(scripted.response.stop);
  }
  scripted.response.usage.is_known = true;
  scripted.response.message = message_of(std::move(parts));
  return scripted;
}

// Fails: `invalid_argument`, with the place in the script.
Result<std::vector<ScriptedResponse>> script_from_json(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return forward(json);
  std::vector<ScriptedResponse> script;
  auto read = each_member(
      *json, "$",
      [&](std::string_view key, const Json& value, const std::string& place) -> Result<void> {
        if (key != "responses") return unknown_member(place);
        return each_element(value, place,
                            [&](const Json& element, const std::string& where) -> Result<void> {
                              auto response = response_from(element, where);
                              if (!response) return forward(response);
                              script.push_back(*std::move(response));
                              return {};
                            });
      });
  if (!read) return forward(read);
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
