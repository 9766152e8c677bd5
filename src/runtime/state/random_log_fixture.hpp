// Logs that no program would write, for the properties of the fold: a few ids and positions,
// so that they meet, on all channels, in any order, some entries odd or unreadable.

#pragma once

#include <cstdint>
#include <rapidcheck.h>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "state/log_fixture.hpp"

namespace perdure {

/// The text of reasoning in a message that was cut off.
inline const std::string half_a_thought = "half a thought";

inline std::string any_id() { return *rc::gen::element<std::string>("c", "c", "c_2", "d", ""); }

inline Position near_place() { return *rc::gen::inRange<Position>(0, 20); }

inline Block any_block(bool is_partial) {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return TextBlock{.text = *rc::gen::element<std::string>("", "a", "b")};
    case 1:
      return ReasoningBlock{.text = is_partial ? half_a_thought : "a thought"};
    case 2:
      return OtherBlock{RawJson::from_text(R"({"kind":"image"})").value()};
    case 3:
    case 4:
    case 5:
      return ToolCallBlock{.id = any_id(), .name = "pay"};
    default:
      break;
  }
  ToolResultBlock result{.call_id = any_id(), .content = "r"};
  if (*rc::gen::arbitrary<bool>()) {
    result.content = *rc::gen::element<std::string>("r1", "r2", "r3");
    set_outcome(result, {.call = near_place(),
                         .state = *rc::gen::element(CallState::succeeded, CallState::in_doubt,
                                                    CallState::failed)});
  }
  return result;
}

inline Message any_message() {
  Message message;
  message.role =
      *rc::gen::element(Role::user, Role::user, Role::assistant, Role::assistant, Role::system);
  message.is_partial = *rc::gen::inRange(0, 6) == 0;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    message.blocks.push_back(any_block(message.is_partial));
  }
  return message;
}

/// Channel, kind and body of something that is not a message.
inline void add_any_other(LogOf& log) {
  static const std::vector<std::vector<std::string>> bodies = {
      {"budget", "limit", R"({"micros":50})"},
      {"budget", "reserve", R"({"subject":"r","micros":9})"},
      {"budget", "unconfirmed", R"({"subject":"r"})"},
      {"budget", "spend", R"({"subject":"r","micros":7})"},
      {"budget", "spend", R"({"subject":"r","micros":7,"after":{"spent":70}})"},
      {"requests", "request", R"({"reservation":"r"})"},
      {"plan", "plan", R"({"objective":"o"})"},
      {"plan", "plan", R"({"v":2})"},
      {"setup", "setup", "{}"},
      {"counters", "counters", R"({"counters":{"n":1}})"},
      {"scratchpad", "set", R"({"key":"k","text":"t"})"},
      {"scratchpad", "delete", R"({"key":"k"})"},
      {"notes", "n", "\xFF"},
      {"calls", "poem", "{}"},
      {"transcript", "message", "{"}};
  const auto& body = *rc::gen::elementOf(bodies);
  log.add(body[0], body[1], body[2]);
}

inline void add_any(LogOf& log) {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
    case 1:
    case 2:
      log.say(any_message());
      break;
    case 3:
      log.intend(near_place(), *rc::gen::inRange<std::uint64_t>(0, 4));
      break;
    case 4:
      log.add("calls", "doubt", to_json(Doubt{.call = near_place(), .why = "lost"}));
      break;
    default:
      add_any_other(log);
  }
}

inline LogOf any_log() {
  LogOf log;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    add_any(log);
    Entry& entry = log.entries().back();
    if (*rc::gen::inRange(0, 8) == 0) entry.condition = Condition::erased;
    if (*rc::gen::inRange(0, 12) == 0) entry.condition = Condition::damaged;
    if (*rc::gen::inRange(0, 12) == 0) entry.fold = Fold::replace;
  }
  return log;
}

}  // namespace perdure
