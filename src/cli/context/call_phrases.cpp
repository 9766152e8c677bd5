// One spelling, wherever a call is told of.

#include "context/call_phrases.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "context/command_context.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {
std::string shown_call(const CommandContext& context, const Call& call) {
  return fmt::format("{}:{}", context.short_id(call.session.text()), call.position);
}

std::string settle_command(const CommandContext& context, std::string_view call) {
  return context.command(
      fmt::format("resolve {} --as succeeded|failed|retry|abandoned --reason \"…\"", call));
}

std::string allow_command(const CommandContext& context, std::string_view tool,
                          std::string_view call) {
  if (asks_people(tool)) return context.command(fmt::format("answer {} \"…\"", call));
  return context.command(fmt::format("approve {}", call)) + "  (or perdure deny)";
}

std::string asked_words(const State& state, Position call) {
  const auto open = state.open_calls.find(call);
  if (open == state.open_calls.end()) return {};
  const std::string args(args_of(state, open->second).value_or(""));
  if (!asks_people(open->second.tool)) {
    return fmt::format("{} {}", open->second.tool, args);
  }
  const auto parsed = parse_args(args);
  const Json* const question = parsed ? parsed->find("question") : nullptr;
  return question != nullptr && question->as_string() != nullptr ? *question->as_string() : args;
}

bool asks_people(std::string_view tool) { return tool == "ask_user"; }

}  // namespace perdure::cli
