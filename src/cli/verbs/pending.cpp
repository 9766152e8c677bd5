// What waits for a person, over all sessions: calls in doubt, calls left by a process that is gone,
// calls that nobody has allowed yet, questions.

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "context/call_phrases.hpp"
#include "context/pending_calls.hpp"
#include "context/sessions.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/table.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

struct PendingRow {
  Call call{};
  std::string title{};
  std::string opening{};
  std::string args{};
  std::string why{};
  Need need = Need::decision;
};

PendingRow row_of(const PendingCall& pending, const SessionSummary& session, const State& state) {
  PendingRow made{.call = pending.call,
                  .title = session.title,
                  .opening = session.opening,
                  .why = pending.call.why,
                  .need = pending.need};
  const auto open = state.open_calls.find(made.call.position);
  if (open == state.open_calls.end()) return made;
  made.args = args_of(state, open->second).value_or("");
  if (made.why.empty()) made.why = open->second.doubt.value_or("");
  return made;
}

// Hands every call that waits to `take`, a page of the ledger at a time.
class PendingReader {
 public:
  explicit PendingReader(Store& store) : store_(store) {}

  Result<void> read(const std::optional<SessionId>& only,
                    const std::function<void(PendingRow)>& take) {
    CallQuery query = unsettled_calls(only);
    for (;;) {
      auto calls = store_.ledger().list(query);
      if (!calls) return forward(calls);
      for (const Call& call : *calls) {
        auto made = look_at(call);
        if (!made) return forward(made);
        if (*made) take(**std::move(made));
      }
      if (calls->size() < query.limit) return {};
      query.after = CallId{calls->back().session, calls->back().position};
    }
  }

 private:
  Result<std::optional<PendingRow>> look_at(const Call& call) {
    if (row_.id != call.session) {
      auto row = store_.sessions().read(call.session);
      if (!row) return forward(row);
      row_ = *std::move(row);
      state_.reset();
    }
    if (!row_.moved_to.empty()) return std::nullopt;
    if (!state_) {
      auto state = read_state(store_, row_.id, Point::head());
      if (!state) return forward(state);
      state_ = *std::move(state);
    }
    const auto need = need_of(call, row_, &*state_);
    if (!need) return std::nullopt;
    return row_of({call, *need}, row_, *state_);
  }

  Store& store_;
  SessionSummary row_;          ///< Of the call that was looked at last.
  std::optional<State> state_;  ///< Of that session, once it was needed.
};

void print_pending(CommandContext& context, const std::vector<PendingRow>& pending) {
  Table table({{.heading = "CALL"},
               {.heading = "TOOL"},
               {.heading = "EFFECT", .drop = 2},
               {.heading = "STATE"},
               {.heading = "WAITS FOR"},
               {.heading = "SINCE", .drop = 1},
               {.heading = "TITLE", .least = 8, .drop = 3},
               {.heading = "ARGUMENTS", .least = 8, .drop = 4}});
  for (const PendingRow& each : pending) {
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
      return fmt::format("Allow:  {}, or {}", context.command("approve CALL"),
                         context.command("deny CALL --reason …"));
    case Need::answer:
      return "Answer: " + context.command("answer CALL TEXT");
    case Need::resume:
      return "Owner process died; resume the session to determine the outcome: " +
             context.command("resume SES");
  }
  return "";
}

void print_advice(CommandContext& context, const std::vector<PendingRow>& pending) {
  for (const Need need : {Need::decision, Need::resume, Need::approval, Need::answer}) {
    if (std::ranges::find(pending, need, &PendingRow::need) != pending.end()) {
      context.talk().line(advice_for(context, need));
    }
  }
}

Result<Exit> run_pending(CommandContext& context) {
  auto store = context.open();
  if (!store) return forward(store);
  std::optional<SessionId> only;
  if (!context.given().arguments.empty()) {
    auto row = find_session(**store, context.given().arguments.front());
    if (!row) return forward(row);
    only = row->id;
  }
  std::vector<PendingRow> pending;
  auto read = PendingReader(**store).read(
      only, [&](PendingRow call) { pending.push_back(std::move(call)); });
  if (!read) return forward(read);
  context.output().begin_list("perdure.pending/1");
  for (const PendingRow& each : pending) {
    Json item = as_json(each.call);
    item.set("title", each.title);
    item.set("args", each.args);
    item.set("why", each.why);
    item.set("waits_for", to_string(each.need));
    context.output().item(std::move(item));
  }
  context.output().end_list();
  if (context.output().is_json()) return Exit::done;
  if (pending.empty()) {
    context.talk().line("Nothing is pending.");
    return Exit::done;
  }
  print_pending(context, pending);
  for (const PendingRow& each : pending) {
    const bool is_claimed = each.call.state == CallState::intended && each.need == Need::decision;
    if (is_claimed)
      context.talk().line(fmt::format("{}: {}", shown_call(context, each.call), each.why));
  }
  print_advice(context, pending);
  return Exit::done;
}

}  // namespace

Command pending_command() {
  return {.name = "pending",
          .summary = "List calls that wait for a person",
          .details =
              "Calls in doubt, calls left by a process that is gone, calls that nobody has allowed "
              "yet, and\n"
              "questions of agents.",
          .arguments = {{.name = "SES",
                         .summary = "Only of this session",
                         .count = Argument::Count::maybe,
                         .by = Completes::session}},
          .opens_store = true,
          .examples = {{"perdure pending", "what needs me?"}},
          .schema = "perdure.pending/1",
          .fields = {"call", "session", "position", "tool", "effect", "state", "attempts", "key",
                     "intended_at", "dispatched_at", "settled_at", "who", "why", "title", "args",
                     "waits_for"},
          .run = run_pending};
}

}  // namespace perdure::cli
