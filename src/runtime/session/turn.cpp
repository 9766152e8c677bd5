// A turn, write by write: ask, answer, run the calls. Each write is one commit, and what a crash
// after it leaves is what the next process goes on from.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/intents.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/open_request.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

void add_budget(Draft& draft, const BudgetEntry& entry) {
  draft.add(appending("budget", std::string(to_string(entry.change)), to_json(entry)));
}

std::int64_t reserved_by(const Budget& budget, const Request& request) {
  const auto found = budget.reservations.find(request.reservation);
  return found == budget.reservations.end() ? 0 : found->second.micros;
}

// `budget`: as it is when the draft gets there. `request`: without what the spec says of it.
Result<void> add_request(Draft& draft, const HeldSession& held, Budget& budget,
                         const RequestSpec& spec, Request request) {
  request.model = spec.model;
  request.digest = spec.digest;
  if (spec.reserve_micros != reserved_by(budget, request)) {
    if (request.reservation.empty()) {
      request.reservation = mint<BatchTag>(held.world().ids).text();
    }
    auto reserved = enter(budget, {.change = BudgetChange::reserve,
                                   .subject = request.reservation,
                                   .micros = spec.reserve_micros,
                                   .what = spec.model});
    if (!reserved) return forward(reserved);
    add_budget(draft, *reserved);
  }
  draft.add(appending("requests", "request", to_json(request)));
  return {};
}

bool has_calls(const Message& message) {
  for (const Block& block : message.blocks) {
    if (std::holds_alternative<ToolCallBlock>(block)) return true;
  }
  return false;
}

bool ends_turn(const Message& response, const AnswerExtras& extras) {
  if (response.is_partial) return extras.rests.has_value();
  return !has_calls(response) && !extras.goes_on;
}

// The open request, if this process wrote it ahead and it was not sent yet.
const Request* written_ahead(const HeldSession& held) {
  const auto& open = held.state().request;
  const bool is_ours = open && open->request.is_ahead && held.has_written(open->position);
  return is_ours ? &open->request : nullptr;
}

bool is_checkpoint_due(const SessionParts& parts) {
  const HeldSession& held = parts.held;
  const Cadence& cadence = held.world().policy.cadence;
  if (cadence.at != Cadence::At::period) return true;
  if (held.turns_since_named() + 1 >= cadence.turns) return true;
  return held.world().clock.now() - held.named_at() >= cadence.time;
}

void end_turn(Draft& draft, const SessionParts& parts) {
  if (is_checkpoint_due(parts)) {
    draft.batch.checkpoint = NewCheckpoint{.reason = "turn"};
  } else {
    draft.batch.sync = Sync::later;
  }
}

// The commit of a response, while it is put together.
struct Answered {
  Draft draft;
  Position position = 0;
  Budget budget{};
  std::vector<dispatch::CallView> begun{};  ///< Calls that it dispatches.
};

// What nobody knows of a cost stays with the reservation.
Result<void> add_cost(Answered& made, const Request& request, const Usage& usage) {
  BudgetEntry spend{
      .change = BudgetChange::spend, .subject = request.reservation, .micros = usage.cost_micros};
  const auto open = made.budget.reservations.find(request.reservation);
  if (usage.unconfirmed_micros > 0 && open != made.budget.reservations.end()) {
    auto left = enter(made.budget, {.change = BudgetChange::unconfirmed,
                                    .subject = request.reservation,
                                    .micros = usage.unconfirmed_micros});
    if (!left) return forward(left);
    add_budget(made.draft, *left);
    spend.subject.clear();
  }
  if (spend.subject.empty() && usage.cost_micros == 0) return {};
  auto spent = enter(made.budget, std::move(spend));
  if (!spent) return forward(spent);
  add_budget(made.draft, *spent);
  return {};
}

// The response and what it cost.
Result<Answered> begin_answer(const HeldSession& held, const Message& response, const Usage& usage,
                              bool ends) {
  Answered made{.draft = held.draft(), .budget = held.state().budget};
  NewEntry entry = appending("transcript", "message", to_json(response));
  entry.tally = {.turns = ends ? 1 : 0,
                 .steps = 1,
                 .tokens_in = usage.tokens_in,
                 .tokens_out = usage.tokens_out,
                 .cost_micros = usage.cost_micros};
  made.position = made.draft.add(std::move(entry));
  if (auto added = add_cost(made, held.state().request->request, usage); !added) {
    return forward(added);
  }
  return made;
}

// The request that follows goes where a sync is made anyway; beyond the budget, nowhere.
void plan_request(SessionParts& parts, Answered& made, const std::vector<dispatch::CallView>& calls,
                  const RequestSpec& spec) {
  const Request ahead{.is_ahead = true, .loss_token = parts.held.loss_token()};
  if (std::ranges::all_of(calls, &dispatch::CallView::is_read_only)) {
    [[maybe_unused]] const auto added =
        add_request(made.draft, parts.held, made.budget, spec, ahead);
    return;
  }
  parts.dispatcher.then([&parts, spec, ahead](Draft& draft) {
    Budget budget = parts.held.state().budget;
    [[maybe_unused]] const auto added = add_request(draft, parts.held, budget, spec, ahead);
  });
}

Result<Answered> build_answer(SessionParts& parts, const Message& response, const Usage& usage,
                              const AnswerExtras& extras, bool with_dispatch) {
  const bool ends = ends_turn(response, extras);
  auto made = begin_answer(parts.held, response, usage, ends);
  if (!made) return made;
  if (extras.plan) made->draft.add(replacing("plan", "plan", to_json(*extras.plan)));
  if (ends) {
    end_turn(made->draft, parts);
    // What others decided meanwhile stays.
    if (extras.rests && parts.held.check_goes_on()) made->draft.stand(*extras.rests);
  }
  // What has ended begins nothing: of its calls the response tells, and no intent.
  if (ends || response.is_partial || parts.held.has_ended()) return made;
  const auto calls = dispatch::intend(parts.held, made->draft, made->position, response);
  if (with_dispatch) {
    auto begun = parts.dispatcher.dispatch_first(made->draft, calls);
    if (!begun) return forward(begun);
    made->begun = *std::move(begun);
  }
  // Where the policy threw the turn ends with an error, and no request follows.
  const bool goes_on = std::ranges::none_of(calls, &dispatch::CallView::is_put_off);
  if (extras.then && goes_on) plan_request(parts, *made, calls, *extras.then);
  return made;
}

}  // namespace

Result<void> Session::ask(const RequestSpec& request, std::optional<Message> input) {
  HeldSession& held = parts_->held;
  if (auto known = held.find_out(); !known) return forward(known);
  if (auto goes_on = held.check_goes_on(); !goes_on) return goes_on;
  auto unanswered =
      dispatch::has_unanswered(held.world().store, held.lease().session, held.state());
  if (!unanswered) return forward(unanswered);
  if (*unanswered) {
    return fail(ErrorCode::conflict, "a call has no outcome yet: run the calls first");
  }
  const Request* const ahead = written_ahead(held);
  if (held.state().request && ahead == nullptr) {
    return fail(ErrorCode::conflict, "a request is open: answer it first");
  }
  Draft draft = held.draft();
  Budget budget = held.state().budget;
  // What is on disk covers it: that it is sent, and for how much less, need not be there before.
  const bool is_covered =
      ahead != nullptr && !input && reserved_by(budget, *ahead) >= request.reserve_micros;
  if (is_covered) draft.batch.sync = Sync::later;
  if (input) {
    complete(*input, held);
    draft.add(appending("transcript", "message", to_json(*input)));
  }
  Request sent;
  if (ahead != nullptr) sent.reservation = ahead->reservation;
  if (auto added = add_request(draft, held, budget, request, sent); !added) return forward(added);
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<Position> Session::answer(Message response, const Usage& usage, const AnswerExtras& extras) {
  HeldSession& held = parts_->held;
  const OnBehalf on_behalf(held.lease());
  if (auto known = held.find_out(); !known) return forward(known);
  if (!held.state().request) {
    return fail(ErrorCode::conflict, "no request is open: ask first");
  }
  if (extras.rests && has_ended(extras.rests->status)) {
    return fail(ErrorCode::invalid_argument, "a response does not end a session: finish it");
  }
  complete(response, held);
  response.role = Role::assistant;
  parts_->dispatcher.then({});  // What was to follow an earlier response did, or never will.
  // What was paid for is recorded in any case.
  for (const bool with_dispatch : {held.check_goes_on().has_value(), false}) {
    auto made = build_answer(*parts_, response, usage, extras, with_dispatch);
    if (!made && with_dispatch) continue;
    if (!made) return forward(made);
    auto receipt = held.commit(std::move(made->draft));
    // Whatever keeps a call from beginning with it is found out when the calls are run; mostly
    // another one has its key.
    const bool is_refused = !receipt && receipt.error().code == ErrorCode::conflict;
    if (is_refused && !made->begun.empty()) continue;
    if (!receipt) return forward(receipt);
    parts_->dispatcher.began(std::move(made->begun));
    return made->position;
  }
  return fail(ErrorCode::conflict, "the response could not be committed");
}

Result<void> Session::give_up(const std::string& why, bool may_be_paid) {
  HeldSession& held = parts_->held;
  if (auto known = held.find_out(); !known) return forward(known);
  if (!held.state().request) return fail(ErrorCode::conflict, "no request is open");
  parts_->dispatcher.then({});
  Draft draft = held.draft();
  Budget budget = held.state().budget;
  const Request& request = held.state().request->request;
  Result<bool> is_unsent = !may_be_paid || written_ahead(held) != nullptr;
  if (!*is_unsent) is_unsent = is_known_unsent(held.world().store, request);
  if (!is_unsent) return forward(is_unsent);
  const RequestEnd end{.why = why, .may_be_paid = !*is_unsent};
  if (auto added = add_end_of_request(draft, request, budget, end); !added) return added;
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<CallsReport> Session::run_calls(const std::stop_token& stop) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  if (auto goes_on = parts_->held.check_goes_on(); !goes_on) return forward(goes_on);
  const OnBehalf on_behalf(parts_->held.lease());
  return parts_->dispatcher.run(stop);
}

}  // namespace perdure
