// Whatever the log, the conversation that is sent keeps the rules of provider_messages.

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/runtime/state.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/state_details.hpp"
#include "state/log_fixture.hpp"
#include "state/random_log_fixture.hpp"

namespace perdure {
namespace {

std::vector<std::string> calls_of(const Message& message) {
  std::vector<std::string> ids;
  for (const Block& block : message.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) ids.push_back(call->id);
  }
  return ids;
}

std::vector<std::string> results_of(const Message& message) {
  std::vector<std::string> ids;
  for (const Block& block : message.blocks) {
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) ids.push_back(result->call_id);
  }
  return ids;
}

bool has_half_a_thought(const Message& message) {
  return std::ranges::any_of(message.blocks, [](const Block& block) {
    const auto* const reasoning = std::get_if<ReasoningBlock>(&block);
    return reasoning != nullptr && reasoning->text == half_a_thought;
  });
}

void check_message(const Message& message, const Message* before) {
  RC_ASSERT(!message.blocks.empty());
  RC_ASSERT(!message.is_partial);
  RC_ASSERT(!has_half_a_thought(message));
  const auto calls = calls_of(message);
  RC_ASSERT(calls.empty() || message.role == Role::assistant);
  RC_ASSERT(std::set<std::string>(calls.begin(), calls.end()).size() == calls.size());
  const auto asked = before == nullptr ? std::vector<std::string>{} : calls_of(*before);
  const auto results = results_of(message);
  RC_ASSERT(results == asked);
  RC_ASSERT(results.empty() || message.role == Role::user);
  for (std::size_t i = 0; i < results.size(); ++i) {
    RC_ASSERT(std::holds_alternative<ToolResultBlock>(message.blocks[i]));
  }
}

RC_GTEST_PROP(WellFormedProperty, HoldsForAnyLog, ()) {
  const State state = any_log().state();
  const std::vector<Message> sent = provider_messages(state);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    check_message(sent[i], i == 0 ? nullptr : &sent[i - 1]);
  }
  if (!sent.empty()) RC_ASSERT(calls_of(sent.back()).empty());
  RC_ASSERT(provider_messages(state) == sent);
}

// What was said is sent, and all calls of whole messages are.
RC_GTEST_PROP(WellFormedProperty, LosesNeitherTextNorCalls, ()) {
  const State state = any_log().state();
  std::size_t calls = 0;
  std::size_t letters = 0;
  for (const auto& [position, message] : state.transcript) {
    letters += text_of(message).size();
    const bool counts = message.role == Role::assistant && !message.is_partial;
    if (counts) calls += calls_of(message).size();
  }
  std::size_t sent_calls = 0;
  std::size_t sent_letters = 0;
  for (const Message& message : provider_messages(state)) {
    sent_calls += calls_of(message).size();
    sent_letters += text_of(message).size();
  }
  RC_ASSERT(sent_calls == calls);
  RC_ASSERT(sent_letters >= letters);
}

// Told piece by piece, in pieces of any size, it is what it would be if it were told at once.
RC_GTEST_PROP(WellFormedProperty, GrowsIntoWhatItIs, ()) {
  LogOf log = any_log();
  const auto piece = *rc::gen::inRange<std::size_t>(1, 8);
  const auto part = *rc::gen::inRange<std::size_t>(0, 60);
  GrowingHistory growing;
  std::vector<Message> told;
  State state;
  for (std::size_t i = 0; i < log.entries().size(); ++i) {
    fold(state, log.entries()[i]);
    if (i % piece != 0) continue;
    for (bool has_more = true; has_more;) {
      HistoryNews news = growing.update(state, part);
      RC_ASSERT(news.kept <= told.size());
      told.resize(news.kept);
      for (Message& message : news.added) told.push_back(std::move(message));
      has_more = news.has_more;
    }
    RC_ASSERT(told == provider_messages(state));
  }
}

}  // namespace
}  // namespace perdure
