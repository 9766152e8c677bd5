// A question is a call that needs approval, and the words of the approval are its answer: the
// runtime waits for it, across processes, with nothing of its own here.

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/approval.hpp"
#include "perdure/runtime/session_answer.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure {
namespace {

constexpr std::string_view ask_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["question"], "properties": {"question": {"type": "string", "minLength": 1}}})";

SessionAnswer user_answer(const State& state, Position call, const Json& /*args*/) {
  const auto open = state.open_calls.find(call);
  const Approval* word = open == state.open_calls.end()
                             ? nullptr
                             : state.approvals.find(call, open->second.args_digest);
  if (word == nullptr) {
    return {.content = "Nobody was asked: this agent is not set up to wait for an answer.",
            .is_error = true};
  }
  const std::string words = word->why.empty() ? "yes" : word->why;
  return {.content = word->who.empty() ? words : fmt::format("{}: {}", word->who, words)};
}

}  // namespace

ToolSpec make_ask_tool() {
  return {
      .tool = {.name = "ask_user",
               .description =
                   "Asks the user, and waits for the answer. Only for what nothing else can tell.",
               .input_schema = std::string(ask_schema),
               .answer = user_answer},
      .needs_word = true};
}

}  // namespace perdure
