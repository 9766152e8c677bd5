// A mark that cannot be read is as good as none.

#include "loop/marks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"

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

// Of the mark of a response; empty: it does not say.
std::string said_in(const Message& message, std::string_view name) {
  const auto mark = mark_of(message, response_mark);
  const Json* said = mark ? mark->find(name) : nullptr;
  const std::string* text = said != nullptr ? said->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

}  // namespace

Message marked(const ModelResponse& response, const AskedAs& asked) {
  Message message = response.message;
  Json::Object mark{{"stop", to_string(response.stop)}};
  const std::array said = {std::pair{"stop_text", &response.stop_text},
                           std::pair{"asked", &asked.model}, std::pair{"model", &response.model},
                           std::pair{"response_id", &response.response_id},
                           std::pair{"request_id", &response.request_id}};
  for (const auto& [name, text] : said) {
    if (!text->empty()) mark.emplace_back(name, *text);
  }
  if (!asked.has_price) mark.emplace_back("cost", "unknown");
  if (asked.used) mark.emplace_back(used_member, asked.used->count());
  if (asked.counted.tokens > 0) {
    mark.emplace_back(
        "counted", Json::Object{{"tokens", asked.counted.tokens}, {"bytes", asked.counted.bytes}});
  }
  message.unknown.emplace_back(response_mark, RawJson::from_value(std::move(mark)));
  return message;
}

Duration used_in(const Json& mark) {
  const Json* used = mark.find(used_member);
  const auto count = used != nullptr ? used->as_int64() : std::nullopt;
  return Duration(std::max<std::int64_t>(0, count.value_or(0)));
}

Duration used_in(const Message& message) {
  const auto mark = mark_of(message, response_mark);
  return mark ? used_in(*mark) : Duration(0);
}

CountedBody counted_in(const Message& message) {
  const auto mark = mark_of(message, response_mark);
  const Json* counted = mark ? mark->find("counted") : nullptr;
  const auto number = [&](std::string_view name) {
    const Json* said = counted != nullptr ? counted->find(name) : nullptr;
    return said != nullptr ? said->as_int64().value_or(0) : 0;
  };
  const CountedBody read{.tokens = number("tokens"), .bytes = number("bytes")};
  return read.tokens > 0 && read.bytes > 0 ? read : CountedBody{};
}

std::string asked_model_of(const Message& message) { return said_in(message, "asked"); }

bool is_unpriced(const Message& message) { return said_in(message, "cost") == "unknown"; }

std::string words_on_stop(const Message& message) {
  const auto stop = stop_of(message);
  if (stop != StopReason::refusal && stop != StopReason::other) return {};
  const std::string words = said_in(message, "stop_text");
  if (stop == StopReason::refusal) return words;
  return "its provider ended it: " + (words.empty() ? "it does not say why" : words);
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
