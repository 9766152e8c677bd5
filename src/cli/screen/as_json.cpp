// Times are RFC 3339 in UTC, money is millionths of a dollar, what is not known is null.
//
// Values that have a JSON form of their own keep it.

#include "screen/as_json.hpp"

#include <charconv>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/records.hpp"
#include "screen/display.hpp"

namespace perdure::cli {
namespace {

Json read_back(const std::string& text) { return parse_json(text).value_or(Json(text)); }

Json holder_json(const std::optional<Holder>& holder) {
  if (!holder) return nullptr;
  return Json::Object{
      {"worker", holder->worker.text()},    {"host", holder->host},   {"pid", holder->pid},
      {"since", to_iso8601(holder->since)}, {"fence", holder->fence}, {"alive", holder->alive}};
}

Json parent_json(const std::optional<Parent>& parent) {
  if (!parent) return nullptr;
  return Json::Object{{"session", parent->session.text()},
                      {"position", parent->position},
                      {"lineage", parent->lineage == Lineage::fork ? "fork" : "child"}};
}

Json text_list(const std::vector<std::string>& texts) {
  Json::Array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

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

const Json* member_of(const Json& value, const std::string& token) {
  const Json::Array* array = value.as_array();
  if (array == nullptr) return value.find(token);
  std::size_t index = 0;
  const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_index = error == std::errc() && rest == token.data() + token.size();
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

}  // namespace

Json as_json(const std::optional<Timestamp>& time) {
  return time ? Json(to_iso8601(*time)) : Json(nullptr);
}

Json as_json(const std::vector<Damage>& damage) {
  Json::Array list;
  for (const Damage& each : damage) {
    list.push_back(
        Json::Object{{"fault", to_string(each.fault)},
                     {"session", each.session ? Json(each.session->text()) : Json(nullptr)},
                     {"first", each.first},
                     {"last", each.last},
                     {"what", each.what}});
  }
  return list;
}

Json::Object bundle_members(const std::string& file, const BundleReport& report) {
  Json::Array sessions;
  for (const SessionId& id : report.sessions) sessions.emplace_back(id.text());
  return {{"file", file},
          {"sessions", std::move(sessions)},
          {"entries", report.entries},
          {"calls", report.calls},
          {"blobs", report.blobs},
          {"bytes", report.bytes},
          {"digest", to_hex(report.digest)}};
}

Json as_json(const Tally& tally) {
  return Json::Object{{"turns", tally.turns},
                      {"steps", tally.steps},
                      {"tokens_in", tally.tokens_in},
                      {"tokens_out", tally.tokens_out},
                      {"cost_micros", tally.cost_micros}};
}

Json as_json(const Tally& tally, bool is_cost_known) {
  Json made = as_json(tally);
  made.set("is_cost_known", is_cost_known);
  return made;
}

Json as_json(const SessionSummary& row) {
  return Json::Object{{"id", row.id.text()},
                      {"title", row.title},
                      {"opening", row.opening},
                      {"state", to_string(shown_state(row))},
                      {"status", to_string(row.status)},
                      {"wait_reason", row.wait_reason},
                      {"wake_at", as_json(row.wake_at)},
                      {"in_doubt", row.attention},
                      {"restored", row.restored},
                      {"tags", text_list(row.tags)},
                      {"metadata", read_back(row.metadata)},
                      {"parent", parent_json(row.parent)},
                      {"holder", holder_json(row.holder)},
                      {"head", row.head},
                      {"version", row.version},
                      {"totals", as_json(row.tally)},
                      {"moved_to", row.moved_to},
                      {"created_at", to_iso8601(row.created_at)},
                      {"updated_at", to_iso8601(row.updated_at)}};
}

Json as_json(const Call& call) {
  return Json::Object{{"call", call_name(call.session, call.position)},
                      {"session", call.session.text()},
                      {"position", call.position},
                      {"tool", call.tool},
                      {"effect", to_string(call.effect)},
                      {"state", to_string(call.state)},
                      {"attempts", call.attempts},
                      {"key", call.key ? Json(to_hex(*call.key)) : Json(nullptr)},
                      {"intended_at", to_iso8601(call.intended_at)},
                      {"dispatched_at", as_json(call.dispatched_at)},
                      {"settled_at", as_json(call.settled_at)},
                      {"who", call.who},
                      {"why", call.why}};
}

Json as_json(const Checkpoint& checkpoint) {
  return Json::Object{
      {"version", checkpoint.version},      {"position", checkpoint.position},
      {"at", to_iso8601(checkpoint.at)},    {"reason", checkpoint.reason},
      {"label", checkpoint.label},          {"metadata", read_back(checkpoint.metadata)},
      {"totals", as_json(checkpoint.tally)}};
}

Json as_json(const Entry& entry) {
  Json::Object made = {{"position", entry.position},
                       {"at", to_iso8601(entry.at)},
                       {"channel", entry.channel},
                       {"kind", entry.kind},
                       {"fold", entry.fold == Fold::append ? "append" : "replace"},
                       {"hash", to_hex(entry.hash)}};
  if (entry.condition != Condition::intact) {
    made.emplace_back("condition", entry.condition == Condition::erased ? "erased" : "damaged");
  } else if (const auto blob = entry.body.blob()) {
    made.emplace_back("blob", Json::Object{{"digest", to_hex(blob->digest)}, {"size", blob->size}});
  } else if (entry.body.codec() == Codec::json) {
    made.emplace_back("body", read_back(entry.body.bytes()));
  } else {
    made.emplace_back("bytes", to_base64(entry.body.bytes()));
  }
  return made;
}

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
    at = member_of(*at,
                   pointer_name(rest.substr(1, next == std::string_view::npos ? next : next - 1)));
    rest = next == std::string_view::npos ? std::string_view() : rest.substr(next);
  }
  if (at != nullptr && rest.empty()) return *at;
  return fail(ErrorCode::not_found,
              fmt::format("there is nothing at {}; it is written as /messages/0/message", pointer));
}

}  // namespace perdure::cli
