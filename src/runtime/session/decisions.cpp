// What people decide: about calls, allowed or not, how one in doubt ends; and about money.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dispatch/admission.hpp"
#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/decide_calls.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/open_call.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

using dispatch::CallView;
using dispatch::Reason;
using dispatch::Records;

void write_end(Records& records, const CallView& view, const Decision& decision) {
  const Reason reason{.who = decision.who, .why = decision.why};
  switch (decision.as) {
    case Decision::As::succeeded:
      return records.settle(view, CallState::succeeded, {.content = decision.result}, reason);
    case Decision::As::failed:
      return records.settle(view, CallState::failed, {.content = decision.result, .is_error = true},
                            reason);
    case Decision::As::abandoned:
      return records.settle(
          view, CallState::abandoned,
          {.content = "This call was given up. It may have taken effect.", .is_error = true},
          reason);
    case Decision::As::retry:
      return;
  }
}

}  // namespace

std::string_view to_string(Decision::As as) {
  switch (as) {
    case Decision::As::succeeded:
      return "succeeded";
    case Decision::As::failed:
      return "failed";
    case Decision::As::retry:
      return "retry";
    case Decision::As::abandoned:
      return "abandoned";
  }
  return "";
}

std::optional<Decision::As> decision_from(std::string_view text) {
  for (const auto as : {Decision::As::succeeded, Decision::As::failed, Decision::As::retry,
                        Decision::As::abandoned}) {
    if (text == to_string(as)) return as;
  }
  return std::nullopt;
}

Result<CallView> find_open(HeldSession& held, Position call) {
  auto calls = dispatch::open_calls(held);
  if (!calls) return forward(calls);
  for (CallView& view : *calls) {
    if (view.call() == call) return std::move(view);
  }
  return fail(ErrorCode::not_found,
              fmt::format("no call {} is open", call_name(held.lease().session, call)));
}

Result<CallView> find_in_doubt(SessionParts& parts, Position call) {
  auto view = find_open(parts.held, call);
  if (!view) return view;
  const bool is_unresolved =
      view->row.state == CallState::dispatched || view->row.state == CallState::in_doubt;
  if (is_unresolved && !parts.dispatcher.is_running(call)) return view;
  return fail(ErrorCode::conflict,
              fmt::format("call {} is not in doubt", call_name(parts.held.lease().session, call)));
}

namespace {

// A call that was never made, because a bundle claims that it was: to believe that is to give it the
// result and the key, as if it had been made here.
Result<void> add_decision_on_claim(SessionParts& parts, Draft& draft, const CallView& view,
                                   const Decision& decision) {
  Store& store = parts.held.world().store;
  const std::string name = call_name(view.row.session, view.call());
  if (decision.as == Decision::As::abandoned) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("call {} was never made, so there is nothing to give up: say succeeded "
                            "to believe the claim, retry to make the call, or failed",
                            name));
  }
  auto said = dispatch::find_claimed(store, view.row);
  if (!said) return forward(said);
  if (*said != view.open.doubt && decision.as == Decision::As::succeeded) {
    return fail(ErrorCode::conflict,
                fmt::format("what claims say of call {} has changed: look at it again", name));
  }
  auto holder = store.ledger().find_holder(*view.row.key);
  if (!holder) return forward(holder);
  if (*holder && decision.as == Decision::As::succeeded) {
    return fail(ErrorCode::conflict,
                fmt::format("the operation of call {} was done meanwhile, as {}", name,
                            call_name((*holder)->session, (*holder)->position)));
  }
  auto claimed = dispatch::claimed_result(store, view.row);
  if (!claimed) return forward(claimed);
  const Reason reason{.who = decision.who, .why = decision.why};
  Records records(parts.held, draft);
  records.resolution(view, to_string(decision.as), reason);
  if (decision.as == Decision::As::failed) {
    records.settle(view, CallState::denied, {.content = decision.result, .is_error = true}, reason);
  }
  if (decision.as != Decision::As::succeeded) return {};
  dispatch::Told told{.content = decision.result};
  if (told.content.empty() && *claimed)
    told = {.content = (*claimed)->text, .is_error = (*claimed)->is_error};
  if (told.content.empty()) told.content = "This was done before; its result is not kept.";
  draft.batch.calls.emplace_back(Dispatch{.call = view.call()});
  records.settle(view, CallState::succeeded, told, reason);
  return {};
}

}  // namespace

Result<void> add_decision(SessionParts& parts, Draft& draft, Position call,
                          const Decision& decision) {
  auto open = find_open(parts.held, call);
  if (!open) return forward(open);
  if (open->row.state == CallState::intended && open->open.doubt) {
    return add_decision_on_claim(parts, draft, *open, decision);
  }
  auto view = find_in_doubt(parts, call);
  if (!view) return forward(view);
  // Whoever decides must not be overtaken by what they decided about.
  auto left = parts.dispatcher.end_leftovers(*view);
  if (!left) return forward(left);
  Records records(parts.held, draft);
  if (*left) records.evidence(*view, fmt::format("something of it may still run: {}", **left));
  records.resolution(*view, to_string(decision.as), {.who = decision.who, .why = decision.why});
  if (view->row.state == CallState::dispatched) {
    records.doubt(*view, "its outcome was never recorded", view->open.ended_at.has_value());
  }
  write_end(records, *view, decision);
  return {};
}

Result<void> add_approval(SessionParts& parts, Draft& draft, Position call, const Word& word) {
  auto view = find_open(parts.held, call);
  if (!view) return forward(view);
  if (view->row.state != CallState::intended) {
    return fail(ErrorCode::conflict, fmt::format("call {} was made already",
                                                 call_name(parts.held.lease().session, call)));
  }
  const Approval* const before = parts.held.state().approvals.find(call, view->open.args_digest);
  const bool is_denied = before != nullptr && before->decision == ApprovalDecision::refused;
  if (is_denied && word.allow && !word.overrules) {
    return fail(ErrorCode::conflict,
                fmt::format("call {} was denied by {}", call_name(parts.held.lease().session, call),
                            before->who),
                "call_denied");
  }
  const Approval approval{
      .call = call,
      .args_digest = view->open.args_digest,
      .decision = word.allow ? ApprovalDecision::given : ApprovalDecision::refused,
      .who = word.who,
      .why = word.why,
      .at = parts.held.world().clock.now()};
  Approvals approvals = parts.held.state().approvals;
  if (auto applied = approvals.apply(approval); !applied) return forward(applied);
  draft.add(appending("approvals", std::string(to_string(approval.decision)), to_json(approval)));
  return {};
}

Result<void> Session::resolve(Position call, const Decision& decision) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  Draft draft = parts_->held.draft();
  if (auto added = add_decision(*parts_, draft, call, decision); !added) return forward(added);
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<std::size_t> Session::cancel_calls(const std::string& why, std::optional<Message> input) {
  HeldSession& held = parts_->held;
  if (auto known = held.find_out(); !known) return forward(known);
  Draft draft = held.draft();
  auto cancelled = parts_->dispatcher.cancel_unbegun(draft, why);
  if (!cancelled || *cancelled == 0) return cancelled;
  if (input) {
    complete(*input, held);
    draft.add(appending("transcript", "message", to_json(*input)));
  }
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return cancelled;
}

Result<void> Session::set_budget(std::optional<std::int64_t> micros, const std::string& who,
                                 const std::string& why) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  Budget budget = state().budget;
  auto limit = enter(
      budget,
      {.change = BudgetChange::limit, .micros = micros, .what = fmt::format("{}: {}", who, why)});
  if (!limit) return forward(limit);
  Draft draft = parts_->held.draft();
  draft.add(appending("budget", std::string(to_string(limit->change)), to_json(*limit)));
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<void> Session::approve(Position call, bool allow, const std::string& who,
                              const std::string& why) {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  Draft draft = parts_->held.draft();
  const Word word{.allow = allow, .who = who, .why = why, .overrules = true};
  if (auto added = add_approval(*parts_, draft, call, word); !added) return forward(added);
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace perdure
