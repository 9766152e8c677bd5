// Answering a question of an agent.

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_answer(CommandContext& context) {
  auto text = text_of_word(context.given().arguments.at(1), context.io());
  if (!text) return forward(text);
  if (is_blank(*text)) return misuse("the answer is empty");
  auto store = context.open();
  if (!store) return forward(store);
  auto call = find_call(**store, context.given().arguments.front(), {Need::answer});
  if (!call) return forward(call);
  if (auto fits = check_is_question(context, *call, true); !fits) return forward(fits);
  return deliver_permission(
      context, **store, *call,
      {.allow = true, .overrules = true, .decision = "answered", .why = *std::move(text)});
}

}  // namespace

Command answer_command() {
  return {.name = "answer",
          .summary = "Answer an agent's question",
          .arguments = {call_argument,
                        {.name = "TEXT", .summary = "The answer; @FILE reads a file, - stdin"}},
          .examples = {{"perdure answer ses_6a3e 'The blue one'", "the agent continues with it"}},
          .schema = "perdure.decision/1",
          .body = {.run = run_answer, .opens_store = true}};
}

}  // namespace perdure::cli
