// The fold of a log, and with it every decoder of the runtime's values: any text is taken in or
// noted as passed over, what was read is written and read back the same, and what would be
// sent to a provider pairs every call with a result.

#include "perdure/runtime/state.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "target.hpp"

using perdure::Entry;
using perdure::Message;
using perdure::State;
using perdure::fuzz::expect;
using perdure::fuzz::Input;

namespace {

using Kind = std::pair<std::string_view, std::string_view>;

constexpr std::array kinds = {
    Kind{"transcript", "message"}, Kind{"calls", "intent"},      Kind{"setup", "setup"},
    Kind{"plan", "plan"},          Kind{"budget", "limit"},      Kind{"budget", "reserve"},
    Kind{"budget", "spend"},       Kind{"budget", "release"},    Kind{"budget", "unconfirmed"},
    Kind{"budget", "grant"},       Kind{"budget", "return"},     Kind{"counters", "counters"},
    Kind{"requests", "request"},   Kind{"calls", "doubt"},       Kind{"calls", "evidence"},
    Kind{"calls", "resolution"},   Kind{"approvals", "given"},   Kind{"approvals", "used"},
    Kind{"scratchpad", "set"},     Kind{"scratchpad", "delete"}, Kind{"origin", "origin"},
    Kind{"notes", "any"},
};

Entry next_entry(Input& input, perdure::Position position) {
  Entry entry;
  entry.position = position;
  const auto& [channel, kind] = kinds[input.number(1) % kinds.size()];
  entry.channel = channel;
  entry.kind = kind;
  const auto odd = input.number(1);
  entry.fold = odd % 4 == 3 ? perdure::Fold::replace : perdure::Fold::append;
  if (odd > 0xF0) entry.condition = perdure::Condition::damaged;
  entry.body = perdure::Body::from_text(std::string(input.text()));
  return entry;
}

std::size_t count_calls(const Message& message) {
  std::size_t calls = 0;
  for (const auto& block : message.blocks) {
    if (std::holds_alternative<perdure::ToolCallBlock>(block)) ++calls;
  }
  return calls;
}

std::size_t count_results(const Message& message) {
  std::size_t results = 0;
  for (const auto& block : message.blocks) {
    if (std::holds_alternative<perdure::ToolResultBlock>(block)) ++results;
  }
  return results;
}

void check_values(const State& state) {
  for (const auto& [position, message] : state.transcript) {
    const auto back = perdure::message_from_json(to_json(message));
    expect(back && *back == message, "a message comes back");
  }
  if (state.plan) {
    const auto back = perdure::plan_from_json(to_json(*state.plan));
    expect(back && *back == *state.plan, "a plan comes back");
  }
  if (state.setup) {
    const auto back = perdure::setup_from_json(to_json(*state.setup));
    expect(back && *back == *state.setup, "a setup comes back");
  }
  expect(state.budget.totals.recorded() >= 0, "a budget is not below zero");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  State state;
  while (!input.empty()) {
    const Entry entry = next_entry(input, state.head + 1);
    const auto skipped = state.details->skipped.size();
    State again = state;
    fold(state, entry);
    fold(again, entry);
    expect(state == again, "a fold is a function");
    expect(state.details->skipped.size() <= skipped + 1, "an entry is passed over once");
  }
  check_values(state);

  std::size_t unanswered = 0;
  for (const Message& message : provider_messages(state)) {
    expect(count_results(message) == unanswered, "every call is answered by the next message");
    unanswered = count_calls(message);
  }
  expect(unanswered == 0, "the last call is answered too");
  return 0;
}
