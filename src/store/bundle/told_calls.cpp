// Where an entry is pruned, erased or damaged there may be nothing to compare: then only what is there
// and says otherwise counts, and nothing that is missing.

#include "bundle/told_calls.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"

namespace perdure::bundle {
namespace {

constexpr std::string_view book_channel = "tool_calls";

std::uint64_t number_in(const Json& record, std::string_view key) {
  const Json* const value = record.find(key);
  return value == nullptr ? 0 : value->as_uint64().value_or(0);
}

// Bytes that no JSON string can hold are there as base64 too.
std::string bytes_in(const Json& record, const std::string& key) {
  for (const auto& [name, is_exact] : {std::pair{key + "_base64", true}, std::pair{key, false}}) {
    const Json* const value = record.find(name);
    const std::string* const text = value == nullptr ? nullptr : value->as_string();
    if (text == nullptr) continue;
    if (!is_exact) return *text;
    if (auto bytes = from_base64(*text)) return *std::move(bytes);
  }
  return {};
}

bool is_final(CallState state) {
  return state != CallState::intended && state != CallState::dispatched &&
         state != CallState::in_doubt;
}

// A record of a newer version may mean anything.
bool is_known(const Json& record) {
  const Json* const version = record.find("v");
  return record.is_object() && (version == nullptr || version->as_uint64() == 1);
}

std::optional<CallState> book_state(std::string_view kind) {
  constexpr std::array endings = {
      std::pair{std::string_view("result"), CallState::succeeded},
      std::pair{std::string_view("error"), CallState::succeeded},
      std::pair{std::string_view("failed"), CallState::failed},
      std::pair{std::string_view("doubt"), CallState::in_doubt},
  };
  const auto* const found = std::ranges::find(endings, kind, &decltype(endings)::value_type::first);
  return found == endings.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void ToldCalls::add(const Entry& entry) {
  if (entry.condition != Condition::intact) {
    is_whole_ = false;
    return;
  }
  const bool is_message = entry.channel == "transcript" && entry.kind == "message";
  const bool is_record = entry.channel == "calls" || is_message;
  if (is_record && entry.body.codec() == Codec::blob) {
    // What a large message says is not read here.
    if (!is_message) is_whole_ = false;
    return;
  }
  if (is_record) {
    // A made-up text of many values would take many times its size.
    const auto record = parse_foreign_json(entry.body.bytes());
    if (record ? !is_known(*record) : has_too_many_values(entry.body.bytes())) {
      is_whole_ = false;
      return;
    }
    if (record && is_message) add_message(entry.position, *record);
    if (record && !is_message) add_record(entry, *record);
  }
  readable_.push_back(entry.position);
  if (entry.channel == "origin") has_origin_ = true;
  if (entry.channel != book_channel) return;
  if (entry.kind == "issued") issued_.insert(entry.position);
  if (const auto state = book_state(entry.kind)) endings_.emplace(entry.position, *state);
}

void ToldCalls::add_record(const Entry& entry, const Json& record) {
  if (entry.kind == "intent" && record.find("tool") != nullptr) {
    calls_[entry.position].intent = record;
    return;
  }
  const auto call = calls_.find(number_in(record, "call"));
  if (call == calls_.end()) return;
  Told& told = call->second;
  if (entry.kind == "attempt") {
    told.attempts = std::max(told.attempts, static_cast<std::int64_t>(number_in(record, "number")));
    told.is_doubted = false;
  }
  if (entry.kind == "doubt") told.is_doubted = true;
  if (entry.kind == "resolution" && told.attempts == 0) told.is_resolved = true;
}

void ToldCalls::add_message(Position position, const Json& message) {
  const Json* const partial = message.find("partial");
  const Json* const blocks = message.find("blocks");
  if (blocks == nullptr || blocks->as_array() == nullptr) return;
  if (partial != nullptr && partial->as_bool() == true) return;
  for (const Json& block : *blocks->as_array()) {
    if (bytes_in(block, "kind") != "tool_result") continue;
    const auto call = calls_.find(number_in(block, "call"));
    const auto state = call_state_from(bytes_in(block, "outcome"));
    if (call == calls_.end() || !state || !is_final(*state)) continue;
    call->second.ending = state;
    call->second.results.insert(position);
  }
}

std::string ToldCalls::find_contradiction(const Call& call) {
  if (!is_readable(call.position)) return {};
  const auto found = calls_.find(call.position);
  if (found == calls_.end()) {
    if (issued_.contains(call.position)) return find_other_issue(call);
    return has_origin_ ? "has another entry where its intent should be" : "";
  }
  Told& told = found->second;
  if (std::exchange(told.is_row_there, true)) return "is there twice";
  for (const auto find : {&ToldCalls::find_other_words, &ToldCalls::find_other_state,
                          &ToldCalls::find_other_attempts}) {
    if (auto other = (this->*find)(call, told); !other.empty()) return other;
  }
  return {};
}

std::string ToldCalls::find_without_call() const {
  for (const auto& [position, told] : calls_) {
    if (!told.is_row_there) {
      return fmt::format("its log intends a call at position {}, which its ledger does not have",
                         position);
    }
  }
  const auto ended = std::ranges::find(endings_, CallState::succeeded,
                                       [](const auto& ending) { return ending.second; });
  if (!first_open_ || ended == endings_.end() || ended->first < *first_open_) return {};
  return fmt::format("its log has the result of a call at position {}, and call {} is open",
                     ended->first, *first_open_);
}

std::string ToldCalls::find_other_words(const Call& call, const Told& told) const {
  // The ledger spells a name otherwise that has what no row takes.
  const std::string tool = bytes_in(told.intent, "tool");
  if (check_name("tool name", tool, name_bytes_max) && tool != call.tool) {
    return fmt::format("is of the tool {}, and its intent is of {}", call.tool, tool);
  }
  if (bytes_in(told.intent, "provider_id").substr(0, text_bytes_max) != call.provider_id) {
    return "has another provider's id than its intent";
  }
  const Position message = number_in(told.intent, "message");
  if (message == call.args) return {};
  return fmt::format("has its arguments at position {}, and its intent says {}", call.args,
                     message);
}

std::string ToldCalls::find_other_state(const Call& call, const Told& told) const {
  const std::string_view state = to_string(call.state);
  if (told.ending && *told.ending != call.state) {
    return fmt::format("is {}, and its result in the log says {}", state, to_string(*told.ending));
  }
  if (is_final(call.state) && !call.result) return fmt::format("is {} without a result", state);
  if (call.result && is_readable(*call.result) && !told.results.contains(*call.result)) {
    return fmt::format("has its result at position {}, where another entry is", *call.result);
  }
  return {};
}

std::string ToldCalls::find_other_attempts(const Call& call, const Told& told) const {
  const bool is_accepted = told.is_resolved && told.attempts == 0 && call.attempts == 1;
  const bool are_all_told = call.attempts == told.attempts || is_accepted;
  if (call.attempts < told.attempts || (is_whole_ && !are_all_told)) {
    return fmt::format("has {} attempts, and its log has {}", call.attempts, told.attempts);
  }
  const bool is_open = call.state == CallState::dispatched || call.state == CallState::in_doubt;
  if (!is_whole_ || !is_open || told.is_doubted == (call.state == CallState::in_doubt)) return {};
  return fmt::format("is {}, and its log says that it is {}", to_string(call.state),
                     told.is_doubted ? "in doubt" : "under way");
}

std::string ToldCalls::find_other_issue(const Call& call) {
  if (call.args != call.position) {
    return fmt::format("has its arguments at position {}, and was issued with them", call.args);
  }
  const bool is_ended = call.state == CallState::succeeded || call.state == CallState::failed;
  if (!is_final(call.state) && !first_open_) first_open_ = call.position;
  if (!call.result) {
    return is_ended ? fmt::format("is {} without a result", to_string(call.state)) : "";
  }
  if (!is_readable(*call.result)) return {};
  const auto ending = endings_.extract(*call.result);
  if (ending && ending.mapped() == call.state) return {};
  return fmt::format(
      "is {}, and its log has another entry at position {}, where its result "
      "should be",
      to_string(call.state), *call.result);
}

bool ToldCalls::is_readable(Position position) const {
  return std::ranges::binary_search(readable_, position);
}

}  // namespace perdure::bundle
