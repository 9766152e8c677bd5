// A mark that cannot be read is as good as none.

#include "loop/history.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json_text.hpp"
#include "models/dialect.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"

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
  return mark ? text_in(*mark, name) : std::string();
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
  return wire::find_stop_reason(said_in(message, "stop"));
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

// Looks back as far as the present turn goes, and no further.

namespace {

// Calls `look` with the messages of the present turn, last first, until it returns false.
template <class Look>
void look_back(const State& state, const Look& look) {
  for (std::size_t i = state.transcript.size(); i > 0; --i) {
    const PlacedMessage& placed = state.transcript[i - 1];
    if (is_users_word(placed.message) || !look(placed)) return;
  }
}

const ChannelItem* find_value(const State& state, std::string_view channel) {
  const auto found = state.channels.find(channel);
  const bool is_there = found != state.channels.end() && !found->second.empty();
  return is_there ? &found->second.back() : nullptr;
}

Position last_stop(const State& state) {
  const ChannelItem* stop = find_value(state, stop_channel);
  return stop != nullptr ? stop->position : 0;
}

std::int64_t plan_refusals_of(const State& state) {
  std::int64_t refusals = 0;
  look_back(state, [&](const PlacedMessage& placed) {
    if (nudge_of(placed.message) == plan_nudge) ++refusals;
    return true;
  });
  return refusals;
}

std::vector<std::string> missing_of(const Plan& plan) {
  std::vector<std::string> missing;
  for (const PlanStep& step : plan.steps) {
    const bool is_done = step.status == StepStatus::done && step.evidence;
    if (is_done || step.status == StepStatus::blocked) continue;
    missing.push_back(
        fmt::format("step {} ({}): {}", step.id, to_string(step.status), step.description));
  }
  for (const Postcondition& condition : plan.postconditions) {
    if (condition.is_satisfied && condition.evidence) continue;
    missing.push_back("postcondition, not satisfied: " + condition.description);
  }
  return missing;
}

std::string told_missing(const Plan& plan) {
  return fmt::format(
      "Your plan is not finished, so this is not taken as the final answer. What is missing:\n"
      "- {}\n"
      "Do it, and update the plan with evidence; or mark what cannot be done as blocked, with "
      "the reason.",
      fmt::join(missing_of(plan), "\n- "));
}

NextStep after_answer(const State& state) {
  if (!state.plan || state.plan->is_ready_to_finish()) return {.rest = TurnStop::completed};
  if (plan_refusals_of(state) >= plan_refusals_max) return {.rest = TurnStop::incomplete_plan};
  return {.say = nudge(plan_nudge, told_missing(*state.plan))};
}

NextStep after_cut_off(const Message& message) {
  if (text_of(message).empty()) return {};
  return {.say = nudge(cut_off_nudge,
                       "Your last response was cut off where it is marked. None of its calls was "
                       "made. Go on from there.")};
}

}  // namespace

NextStep step_after(const State& state, const Message& response) {
  const auto stop = stop_of(response);
  if (stop == StopReason::refusal) return {.rest = TurnStop::refused};
  if (response.is_partial) return after_cut_off(response);
  if (stop == StopReason::paused || asks_for_calls(response)) return {};
  return after_answer(state);
}

std::string words_on_rest(const State& state, TurnStop rest, const Message& response) {
  if (rest == TurnStop::loop) {
    const ToolCallBlock* call = refused_again_and_again(state, last_stop(state));
    return fmt::format(
        "{} was asked for again and again with the same arguments, and refused {} times",
        call != nullptr ? call->name : "a call", refusals_max);
  }
  if (rest != TurnStop::incomplete_plan || !state.plan) return words_on_stop(response);
  return fmt::format("the plan is not finished: {}", fmt::join(missing_of(*state.plan), "; "));
}

NextStep next_step(const State& state) {
  const auto last = std::ranges::find_if(
      state.transcript.rbegin(), state.transcript.rend(),
      [](const PlacedMessage& placed) { return placed.message.role != Role::system; });
  if (last == state.transcript.rend()) return {.rest = TurnStop::completed};
  if (refused_again_and_again(state, last_stop(state)) != nullptr) return {.rest = TurnStop::loop};
  if (last->message.role == Role::user) return {};
  return step_after(state, last->message);
}

std::int64_t iterations_of(const State& state) {
  const Position stop = last_stop(state);
  std::int64_t iterations = 0;
  look_back(state, [&](const PlacedMessage& placed) {
    if (placed.position < stop) return false;
    if (placed.message.role == Role::assistant) ++iterations;
    return true;
  });
  return iterations;
}

Duration time_of(const State& state) {
  const Position stop = last_stop(state);
  Position begin = stop;
  Duration used{0};
  for (const PlacedMessage& placed : std::views::reverse(state.transcript)) {
    if (placed.position < stop || is_users_word(placed.message)) {
      begin = std::max(stop, placed.position);
      break;
    }
    used = std::max(used, used_in(placed.message));
  }
  const ChannelItem* noted = find_value(state, time_channel);
  if (noted == nullptr || noted->position < begin) return used;
  const auto value = parse_json(noted->body.bytes());
  return value ? std::max(used, used_in(*value)) : used;
}

std::int64_t cut_offs_of(const State& state) {
  std::int64_t cut_offs = 0;
  look_back(state, [&](const PlacedMessage& placed) {
    if (nudge_of(placed.message) == cut_off_nudge) return true;
    if (!placed.message.is_partial) return false;
    ++cut_offs;
    return true;
  });
  return cut_offs;
}

}  // namespace perdure::loop

namespace perdure {

std::string_view to_string(TurnStop stop) {
  static constexpr std::array<std::string_view, 10> names = {
      "completed", "max_iterations",  "deadline", "budget",      "incomplete_plan",
      "loop",      "needs_attention", "waiting",  "interrupted", "refused"};
  return names.at(std::to_underlying(stop));
}

bool has_unknown_cost(const Message& response) { return loop::is_unpriced(response); }

bool has_unknown_cost(const State& state) {
  return std::ranges::any_of(state.transcript, [](const PlacedMessage& placed) {
    return has_unknown_cost(placed.message);
  });
}

}  // namespace perdure
