// What waits for a person, over all sessions: calls in doubt, calls left by a process that is gone,
// calls that are not allowed yet, questions.

#include <algorithm>

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

void print_pending(CommandContext& context, const std::vector<PendingCall>& pending) {
  Table table({{.heading = "CALL"},
               {.heading = "TOOL"},
               {.heading = "EFFECT", .drop = 2},
               {.heading = "STATE"},
               {.heading = "WAITS FOR"},
               {.heading = "SINCE", .drop = 1},
               {.heading = "TITLE", .least = 8, .drop = 3},
               {.heading = "ARGUMENTS", .least = 8, .drop = 4}});
  for (const PendingCall& each : pending) {
    table.add({{shown_call(context, each.call), Ink::bold},
               {each.call.tool},
               {std::string(to_string(each.call.effect))},
               shown(each.call.state, context.is_terminal()),
               {std::string(to_string(each.need))},
               {context.when(each.call.dispatched_at.value_or(each.call.intended_at)), Ink::dim},
               {each.title.empty() ? each.opening : each.title},
               {each.args}});
  }
  table.print(context.screen());
}

std::string advice_for(const CommandContext& context, Need need) {
  switch (need) {
    case Need::decision:
      return "Settle: " + settle_command(context, "CALL");
    case Need::approval:
      return "Allow:  " + allow_command(context, "", "CALL");
    case Need::answer:
      return "Answer: " + context.command("answer CALL TEXT");
    case Need::resume:
      return "Owner process died; resume the session to determine the outcome: " +
             context.command("resume SES");
  }
  return "";
}

void print_advice(CommandContext& context, const std::vector<PendingCall>& pending) {
  for (const Need need : {Need::decision, Need::resume, Need::approval, Need::answer}) {
    if (std::ranges::find(pending, need, &PendingCall::need) != pending.end()) {
      context.advice().line(advice_for(context, need));
    }
  }
}

Result<Exit> run_pending(CommandContext& context, Store& store) {
  auto rows = named_sessions(context, store, 0);
  if (!rows) return forward(rows);
  const auto only = rows->empty() ? std::nullopt : std::optional(rows->front().id);
  std::optional<Error> unread;  // There may be more than is listed.
  auto pending = read_pending(store, only, &unread);
  if (!pending) return forward(pending);
  context.output().begin_list("perdure.pending/1");
  for (const PendingCall& each : *pending) {
    Json item = as_json(each.call);
    item.set("title", each.title);
    item.set("args", each.args);
    item.set("why", each.why);
    item.set("waits_for", to_string(each.need));
    context.output().item(std::move(item));
  }
  context.output().end_list();
  if (pending->empty() && unread) return std::unexpected(*std::move(unread));
  if (pending->empty()) {
    context.advice().line("Nothing is pending.");
    return Exit::done;
  }
  print_pending(context, *pending);
  for (const PendingCall& each : *pending) {
    const bool is_claimed = each.call.state == CallState::intended && each.need == Need::decision;
    if (is_claimed)
      context.advice().line(fmt::format("{}: {}", shown_call(context, each.call), each.why));
  }
  print_advice(context, *pending);
  if (unread) return std::unexpected(*std::move(unread));
  return Exit::done;
}

}  // namespace

Command pending_command() {
  return {.name = "pending",
          .summary = "List calls that wait for a person",
          .details =
              "Calls in doubt, calls left by a process that died, calls that wait for approval, "
              "and questions of agents.",
          .arguments = {{.name = "SES",
                         .summary = "Only of this session",
                         .count = Argument::Count::maybe,
                         .by = Completes::session}},
          .examples = {{"perdure pending", "what needs me?"}},
          .schema = "perdure.pending/1",
          .fields = {"call", "session", "position", "tool", "effect", "state", "attempts", "key",
                     "intended_at", "dispatched_at", "settled_at", "who", "why", "title", "args",
                     "waits_for"},
          .body = on_store(run_pending)};
}

}  // namespace perdure::cli
