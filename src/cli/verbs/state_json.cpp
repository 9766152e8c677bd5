// Values that have a JSON form of their own keep it.

#include "verbs/state_json.hpp"

#include <charconv>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/text.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/counters.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/body.hpp"
#include "verbs/as_json.hpp"

namespace perdure::cli {
namespace {

Json read_back(const std::string& text) { return parse_json(text).value_or(Json(text)); }

Json body_value(const Body& body) {
  if (const auto blob = body.blob()) return Json::Object{{"blob", to_hex(blob->digest)}};
  if (body.codec() == Codec::json) return read_back(body.bytes());
  return Json::Object{{"bytes", to_base64(body.bytes())}};
}

Json messages_value(const State& state) {
  Json::Array messages;
  for (const PlacedMessage& placed : state.transcript) {
    messages.push_back(Json::Object{{"position", placed.position},
                                    {"message", read_back(to_json(placed.message))}});
  }
  return messages;
}

Json budget_value(const BudgetTotals& totals) {
  return Json::Object{{"limit", totals.limit ? Json(*totals.limit) : Json(nullptr)},
                      {"spent", totals.spent},
                      {"unconfirmed", totals.unconfirmed},
                      {"reserved", totals.reserved},
                      {"granted", totals.granted}};
}

Json channels_value(const State& state) {
  Json::Object channels;
  for (const auto& [name, items] : state.channels) {
    Json::Array list;
    for (const ChannelItem& item : items) list.push_back(body_value(item.body));
    channels.emplace_back(name, std::move(list));
  }
  return channels;
}

Json scratchpad_value(const State& state) {
  Json::Object notes;
  for (const auto& [key, value] : state.scratchpad.values) {
    const auto* text = std::get_if<std::string>(&value);
    notes.emplace_back(key,
                       text != nullptr
                           ? Json(*text)
                           : Json(Json::Object{{"blob", to_hex(std::get<BlobRef>(value).digest)}}));
  }
  return notes;
}

Json open_calls_value(const State& state) {
  Json::Array calls;
  for (const auto& [position, call] : state.open_calls) {
    calls.push_back(Json::Object{{"position", position},
                                 {"tool", call.tool},
                                 {"args", std::string(args_of(state, call).value_or(""))},
                                 {"attempts", call.attempts},
                                 {"doubt", call.doubt ? Json(*call.doubt) : Json(nullptr)}});
  }
  return calls;
}

std::string unescaped(std::string_view token) {
  std::string made;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    if (!is_escape) {
      made += token[i];
    } else {
      made += token[++i] == '1' ? '/' : '~';
    }
  }
  return made;
}

const Json* member_of(const Json& value, const std::string& token) {
  const Json::Array* array = value.as_array();
  if (array == nullptr) return value.find(token);
  std::size_t index = 0;
  const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_index = error == std::errc() && rest == token.data() + token.size();
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

}  // namespace

Json state_json(const State& state) {
  return Json::Object{{"head", state.head},
                      {"entries", state.entries},
                      {"totals", as_json(state.totals, !has_unknown_cost(state))},
                      {"setup", state.setup ? read_back(to_json(*state.setup)) : Json(nullptr)},
                      {"messages", messages_value(state)},
                      {"plan", state.plan ? read_back(to_json(*state.plan)) : Json(nullptr)},
                      {"budget", budget_value(state.budget.totals)},
                      {"counters", *read_back(to_json(state.counters)).find("counters")},
                      {"scratchpad", scratchpad_value(state)},
                      {"open_calls", open_calls_value(state)},
                      {"channels", channels_value(state)},
                      {"skipped", state.skipped.size()}};
}

std::string indented(const Json& value, std::size_t depth) {
  const std::string room((depth + 1) * 2, ' ');
  const std::string end(depth * 2, ' ');
  std::string made;
  if (const Json::Object* object = value.as_object(); object != nullptr && !object->empty()) {
    for (const auto& [name, member] : *object) {
      made += fmt::format("{}{}{}: {}", made.empty() ? "{\n" : ",\n", room, Json(name).text(),
                          indented(member, depth + 1));
    }
    return fmt::format("{}\n{}}}", made, end);
  }
  if (const Json::Array* array = value.as_array(); array != nullptr && !array->empty()) {
    for (const Json& element : *array) {
      made +=
          fmt::format("{}{}{}", made.empty() ? "[\n" : ",\n", room, indented(element, depth + 1));
    }
    return fmt::format("{}\n{}]", made, end);
  }
  return value.text();
}

Result<Json> value_at(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  std::string_view rest = pointer;
  while (!rest.empty() && at != nullptr && rest.front() == '/') {
    const auto next = rest.find('/', 1);
    at =
        member_of(*at, unescaped(rest.substr(1, next == std::string_view::npos ? next : next - 1)));
    rest = next == std::string_view::npos ? std::string_view() : rest.substr(next);
  }
  if (at != nullptr && rest.empty()) return *at;
  return fail(ErrorCode::not_found,
              fmt::format("there is nothing at {}; it is written as /messages/0/message", pointer));
}

}  // namespace perdure::cli
