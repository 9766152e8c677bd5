// A mark that cannot be read is as good as none.

#include "loop/marks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::loop {
namespace {

constexpr std::string_view response_mark = "response";
constexpr std::string_view nudge_mark = "nudge";

std::optional<Json> mark_of(const Message& message, std::string_view name) {
  for (const auto& [key, value] : message.unknown) {
    if (key == name) return value.value();
  }
  return std::nullopt;
}

}  // namespace

Message marked(const ModelResponse& response) {
  Message message = response.message;
  Json::Object mark{{"stop", to_string(response.stop)}};
  const std::array said = {std::pair{"stop_text", &response.stop_text},
                           std::pair{"model", &response.model},
                           std::pair{"response_id", &response.response_id},
                           std::pair{"request_id", &response.request_id}};
  for (const auto& [name, text] : said) {
    if (!text->empty()) mark.emplace_back(name, *text);
  }
  message.unknown.emplace_back(response_mark, RawJson::from_value(std::move(mark)));
  return message;
}

std::optional<StopReason> stop_of(const Message& message) {
  constexpr std::array reasons = {StopReason::end,     StopReason::calls,  StopReason::length,
                                  StopReason::refusal, StopReason::paused, StopReason::other};
  const auto mark = mark_of(message, response_mark);
  const Json* stop = mark ? mark->find("stop") : nullptr;
  const std::string* text = stop != nullptr ? stop->as_string() : nullptr;
  if (text == nullptr) return std::nullopt;
  const auto* const found = std::ranges::find(
      reasons, *text, [](StopReason reason) { return std::string(to_string(reason)); });
  return found == reasons.end() ? std::nullopt : std::optional(*found);
}

Message nudge(std::string_view kind, std::string text) {
  Message message = user_says(std::move(text));
  message.unknown.emplace_back(nudge_mark, RawJson::from_value(Json(kind)));
  return message;
}

std::optional<std::string> nudge_of(const Message& message) {
  const auto mark = mark_of(message, nudge_mark);
  const std::string* kind = mark ? mark->as_string() : nullptr;
  return kind == nullptr ? std::nullopt : std::optional(*kind);
}

bool is_users_word(const Message& message) {
  if (message.role != Role::user || nudge_of(message)) return false;
  return std::ranges::any_of(message.blocks, [](const Block& block) {
    return !std::holds_alternative<ToolResultBlock>(block);
  });
}

bool asks_for_calls(const Message& message) {
  return std::ranges::any_of(message.blocks, [](const Block& block) {
    return std::holds_alternative<ToolCallBlock>(block);
  });
}

}  // namespace perdure::loop
