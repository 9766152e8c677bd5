// What a process does with its session: always the next thing that its state asks for, so that
// after an error it just looks again.

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "simulation/kinds.hpp"
#include "simulation/life.hpp"
#include "simulation/process.hpp"

namespace perdure::simulation {
namespace {

bool has_rested(const State& state) {
  if (state.transcript.empty()) return false;
  const Message& last = state.transcript.back().message;
  return last.role == Role::assistant && !last.is_partial &&
         std::ranges::none_of(last.blocks, [](const Block& block) {
           return std::holds_alternative<ToolCallBlock>(block);
         });
}

bool has_work(const std::vector<OpenCall>& calls) {
  return std::ranges::any_of(calls,
                             [](const OpenCall& open) { return !open.is_told || open.is_retried; });
}

// What is sent to the model, by name.
std::string conversation(const State& state) {
  std::string name;
  for (const auto& [position, message] : state.transcript) name += message.id + " ";
  return name;
}

}  // namespace

bool Life::is_fine(Actor& actor, Process& process, std::string_view what,
                   const Result<void>& done) {
  if (done) {
    process.refusals = 0;
    return true;
  }
  refused(actor, process, what, done.error());
  return false;
}

void Life::advance(Actor& actor, Process& process) {
  Session& session = *process.session;
  // It may have gone back behind the decision that its effects are its own.
  actor.root = root_of(session.state().details->origin.value(), actor.books.name);
  // Who gives a response again may not have another request follow it: it would answer that.
  const bool must_know = is_calm_ || (process.bought && process.bought->extras.next_request);
  if (process.is_unsure && (must_know || dice_.chance(60))) return find_out(actor, process);
  if (has_ended(session.status())) {
    say("somebody reopens it");
    is_fine(actor, process, "reopen", session.reopen("a person", "not yet"));
  } else if (session.status() == Status::paused) {
    say("somebody lets it go on");
    is_fine(actor, process, "set_status", session.set_status({.status = Status::active}));
  } else if (process.waiting) {
    attend(actor, process);
  } else if (has_work(own_calls(actor, process))) {
    run_calls(actor, process);
  } else if (process.bought) {
    answer(actor, process);
  } else if (session.state().details->request &&
             !session.state().details->request->request.is_ahead) {
    buy(actor, process);
  } else if (has_rested(session.state()) && session.state().totals.turns >= actor.turns) {
    rest(actor, process);
  } else {
    ask(actor, process);
  }
}

// Any write finds out; this one does nothing else.
void Life::find_out(Actor& actor, Process& process) {
  const auto version = process.session->checkpoint({.reason = "found out"});
  if (!version) return refused(actor, process, "checkpoint", version.error());
  process.is_unsure = false;
  process.refusals = 0;
  say("process {} knows again", process.number);
  drop_if_it_went_back(process);
  // What was bought may have been in it.
  for (const auto& [position, message] : process.session->state().transcript) {
    if (process.bought && message.id == process.bought->message.id) process.bought.reset();
  }
}

// A rewind whose reply was lost may have ended the request that was answered.
bool Life::drop_if_it_went_back(Process& process) {
  if (!process.may_have_gone_back || process.session->state().details->request) return false;
  process.bought.reset();
  return true;
}

void Life::ask(Actor& actor, Process& process) {
  Session& session = *process.session;
  std::optional<Message> input;
  if (session.state().transcript.empty() || has_rested(session.state())) {
    input = user_says("go on");
  }
  const auto asked =
      session.record_request({.model = "sim", .reserve_micros = reserve_micros}, input);
  if (!asked && asked.error().code == ErrorCode::conflict && asked.error().subject == "budget") {
    say("{} is out of money", actor.id.text());
    return rest(actor, process);
  }
  // One that was only written ahead says nothing of this one.
  const auto& open = session.state().details->request;
  if (!asked && open && !open->request.is_ahead) {
    say("process {} has asked already", process.number);
    process.is_unsure = false;
    return;
  }
  if (is_fine(actor, process, "ask", asked)) say("process {} asks", process.number);
}

void Life::buy(Actor& actor, Process& process) {
  const State& state = process.session->state();
  const std::string name = conversation(state);
  if (actor.books.asked_and_answered.contains(name)) {
    complain("a response that was committed is bought again");
  }
  for (const Call& call : must(store_->ledger().list({.session = actor.id}))) {
    const bool may_be =
        call.state == CallState::in_doubt && policy_.on_doubt == OnDoubt::tell_model;
    const bool is_open = call.state == CallState::intended || call.state == CallState::dispatched ||
                         call.state == CallState::in_doubt;
    if (is_open && !may_be) complain("the model is asked while a call has no outcome");
  }
  const std::uint64_t number = prices_.size() + 1;
  process.bought = model_.respond(provider_messages(state), number);
  process.bought_for = name;
  const std::string& id = process.bought->message.id;
  prices_[id] = process.bought->usage.cost_micros;
  actor.books.bought[id] = process.bought->usage.cost_micros;
  say("process {} buys {} for {}", process.number, id, process.bought->usage.cost_micros);
  if (!is_calm_ && dice_.chance(4)) {
    say("process {} dies with it", process.number);
    process.store.die();
    bury(actor);
    return;
  }
  answer(actor, process);
}

void Life::answer(Actor& actor, Process& process) {
  const Response& response = *process.bought;
  process.asks_ahead = response.extras.next_request.has_value();
  const auto answered =
      process.session->record_response(response.message, response.usage, response.extras);
  const bool is_there = std::ranges::any_of(
      process.session->state().transcript,
      [&](const PlacedMessage& placed) { return placed.message.id == response.message.id; });
  if (!answered && is_there) {
    say("process {} finds {} in the log", process.number, response.message.id);
    process.is_unsure = false;
    process.bought.reset();
    return;
  }
  if (!answered && answered.error().code == ErrorCode::conflict && drop_if_it_went_back(process)) {
    say("process {} finds that it went back", process.number);
    process.is_unsure = false;
    return;
  }
  if (!answered) return refused(actor, process, "answer", answered.error());
  say("process {} has {} at {}{}", process.number, response.message.id, *answered,
      response.message.is_partial ? ", cut off" : "");
  actor.books.committed.insert(response.message.id);
  actor.books.asked_and_answered.insert(process.bought_for);
  process.bought.reset();
  process.refusals = 0;
}

void Life::run_calls(Actor& actor, Process& process) {
  auto report = process.session->run_calls();
  if (!report) return refused(actor, process, "run_calls", report.error());
  process.waiting = report->waiting;
  process.refusals = 0;
  const bool is_wanted = process.asks_ahead || process.may_have_gone_back;
  if (process.session->state().details->request && !is_wanted) {
    complain("a request is open that nobody wanted");
  }
  say("process {} ran {}, verified {}, replayed {}, refused {}{}", process.number, report->run,
      report->verified, report->replayed, report->refused,
      report->waiting ? ", and waits: " + report->waiting->why : "");
}

std::vector<OpenCall> Life::own_calls(const Actor& actor, const Process& process) {
  std::vector<OpenCall> calls;
  for (const auto& [position, open] : process.session->state().details->open_calls) {
    if (store_->ledger().read(actor.id, position)) calls.push_back(open);
  }
  return calls;
}

void Life::rest(Actor& actor, Process& process) {
  if (!own_calls(actor, process).empty()) {
    run_calls(actor, process);
    const bool is_here = actor.process.get() == &process && process.session && !process.waiting;
    if (!is_here) return;
    const auto left = own_calls(actor, process);
    return left.empty() ? void() : decide(actor, process, left.front().call);
  }
  const auto completed = process.session->set_status({.status = Status::completed});
  if (!is_fine(actor, process, "set_status", completed)) return;
  say("{} is done", actor.id.text());
  actor.is_done = true;
  actor.process.reset();
}

// Does what the session waits for.
void Life::attend(Actor& actor, Process& process) {
  const Waiting waiting = *std::exchange(process.waiting, std::nullopt);
  switch (waiting.what) {
    case Waiting::For::approval:
      // It may have been cancelled with its session since.
      if (!process.session->state().details->open_calls.contains(waiting.call)) return;
      return approve(actor, process, waiting.call);
    case Waiting::For::decision:
      return decide(actor, process, waiting.call);
    case Waiting::For::time:
      if (!waiting.until) return complain("it waits for a time that it does not name");
      return wait_until(actor, process, *waiting.until);
  }
}

void Life::wait_until(Actor& /*actor*/, Process& process, Timestamp until) {
  const Duration left = until - clock_.now();
  const bool is_early = !is_calm_ && dice_.chance(20);
  const Duration by = std::max(is_early ? left / 2 : left, Duration(1));
  say("{} ms pass", by.count());
  clock_.advance(by);
  std::ignore = process.runtime->renew();
}

void Life::approve(Actor& actor, Process& process, Position call) {
  const bool allow = dice_.chance(75);
  say("somebody {} call {}", allow ? "allows" : "refuses", call);
  if (dice_.chance(50)) {
    is_fine(actor, process, "approve", process.session->approve(call, allow, "a person", "asked"));
    return;
  }
  Mail mail(*store_, actor.id);
  must(mail.approve(mint<MessageTag>(ids_), call, allow, "a person", "asked"));
  const auto taken = process.session->take_inbox();
  if (!taken) refused(actor, process, "take_inbox", taken.error());
}

// People ask the world, and wait until nothing is under way any more.
Decision Life::truthful(Actor& actor, Process& process, const OpenCall& call) {
  const Kind* kind = find_kind(call.tool);
  const auto args = parse_json(args_of(process.session->state(), call).value_or("{}"));
  const std::string operation = operation_of(actor, *kind, args.value_or(Json()), call.call);
  calls_.note_asked({actor.books.name, call.call}, operation);
  while (const auto due = world_.last_landing(operation)) {
    clock_.advance(std::max(*due - clock_.uptime(), Duration(1)));
    if (!world_.has_landed(operation)) continue;
  }
  std::ignore = process.runtime->renew();
  const bool has_landed = kind->is_read() || world_.has_landed(operation);
  const auto roll = dice_.below(100);
  Decision decision{.result = "as the world says", .who = "a person", .why = "asked the world"};
  if (has_landed) {
    decision.as = roll < 85 ? Decision::As::succeeded : Decision::As::abandoned;
  } else if (roll < 40) {
    decision.as = Decision::As::failed;
  } else {
    decision.as = roll < 80 ? Decision::As::retry : Decision::As::abandoned;
  }
  return decision;
}

void Life::decide(Actor& actor, Process& process, Position call) {
  const auto& open = process.session->state().details->open_calls;
  const auto found = open.find(call);
  if (found == open.end()) return say("call {} was decided meanwhile", call);
  const Decision decision = truthful(actor, process, found->second);
  if (decision.as == Decision::As::retry) calls_.note_retry({actor.books.name, call});
  say("somebody decides on call {}: {}", call, to_string(decision.as));
  if (dice_.chance(50)) {
    is_fine(actor, process, "resolve", process.session->resolve(call, decision));
    return;
  }
  Mail mail(*store_, actor.id);
  must(mail.resolve(mint<MessageTag>(ids_), call, decision));
  const auto taken = process.session->take_inbox();
  if (!taken) refused(actor, process, "take_inbox", taken.error());
}

}  // namespace perdure::simulation
