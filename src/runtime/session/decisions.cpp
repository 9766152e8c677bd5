// What people decide about calls, and what a tool says when it is asked about one. That a call took
// effect settles it; any other answer of verify is only evidence.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "dispatch/calls.hpp"
#include "dispatch/facts.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/parts.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

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

Result<CallView> find_open(SessionWriter& writer, Position call) {
  auto calls = dispatch::open_calls(writer);
  if (!calls) return forward(calls);
  for (CallView& view : *calls) {
    if (view.call() == call) return std::move(view);
  }
  return fail(ErrorCode::not_found,
              fmt::format("no call {} is open", call_name(writer.lease().session, call)));
}

Result<CallView> find_in_doubt(SessionParts& parts, Position call) {
  auto view = find_open(parts.writer, call);
  if (!view) return view;
  const bool is_unresolved =
      view->row.state == CallState::dispatched || view->row.state == CallState::in_doubt;
  if (is_unresolved && !parts.dispatcher.is_running(call)) return view;
  return fail(ErrorCode::conflict, fmt::format("call {} is not in doubt",
                                               call_name(parts.writer.lease().session, call)));
}

namespace {

// A call that was never made, because a bundle claims that it was: to believe that is to give it the
// result and the key, as if it had been made here.
Result<void> add_decision_on_claim(SessionParts& parts, Draft& draft, const CallView& view,
                                   const Decision& decision) {
  Store& store = parts.writer.deps().store;
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
  Records records(parts.writer, draft);
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
  auto open = find_open(parts.writer, call);
  if (!open) return forward(open);
  if (open->row.state == CallState::intended && open->open.doubt) {
    return add_decision_on_claim(parts, draft, *open, decision);
  }
  auto view = find_in_doubt(parts, call);
  if (!view) return forward(view);
  // Whoever decides must not be overtaken by what they decided about.
  auto left = parts.dispatcher.end_leftovers(*view);
  if (!left) return forward(left);
  Records records(parts.writer, draft);
  if (*left) records.evidence(*view, fmt::format("something of it may still run: {}", **left));
  records.resolution(*view, to_string(decision.as), {.who = decision.who, .why = decision.why});
  if (view->row.state == CallState::dispatched) {
    records.doubt(*view, "its outcome was never recorded", view->open.ended_at.has_value());
  }
  write_end(records, *view, decision);
  return {};
}

Result<void> add_approval(SessionParts& parts, Draft& draft, Position call,
                          const CallApproval& word) {
  auto view = find_open(parts.writer, call);
  if (!view) return forward(view);
  if (view->row.state != CallState::intended) {
    return fail(ErrorCode::conflict, fmt::format("call {} was made already",
                                                 call_name(parts.writer.lease().session, call)));
  }
  const Approval* const before = parts.writer.state().approvals.find(call, view->open.args_digest);
  const bool is_denied = before != nullptr && before->decision == ApprovalDecision::refused;
  if (is_denied && word.allow && !word.overrules) {
    return fail(ErrorCode::conflict,
                fmt::format("call {} was denied by {}",
                            call_name(parts.writer.lease().session, call), before->who),
                "call_denied");
  }
  const Approval approval{
      .call = call,
      .args_digest = view->open.args_digest,
      .decision = word.allow ? ApprovalDecision::given : ApprovalDecision::refused,
      .who = word.who,
      .why = word.why,
      .at = parts.writer.deps().clock.now()};
  Approvals approvals = parts.writer.state().approvals;
  if (auto applied = approvals.apply(approval); !applied) return forward(applied);
  draft.add(appending("approvals", std::string(to_string(approval.decision)), to_json(approval)));
  return {};
}

namespace {

using dispatch::CallView;
using dispatch::Records;

Result<void> check_can_be_asked(const CallView& view) {
  if (view.tool == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("the agent has no tool {} any more", view.open.tool));
  }
  if (!view.tool->verify) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} has no way to tell whether a call took effect", view.open.tool));
  }
  if (!view.args) {
    return fail(ErrorCode::unsupported, "the arguments of the call cannot be read any more");
  }
  return {};
}

void note_answer(Records& records, const CallView& view, const std::string& said) {
  if (view.row.state == CallState::dispatched) {
    records.doubt(view, "its outcome was never recorded", view.open.ended_at.has_value());
  }
  records.evidence(view, said);
}

void write_verdict(Records& records, const CallView& view, const Verdict& verdict) {
  if (const auto* landed = std::get_if<Landed>(&verdict)) {
    records.settle(view, CallState::succeeded,
                   {.content = landed->content, .is_error = landed->is_error},
                   {.who = "verify", .why = "it took effect"});
  } else if (const auto* unknown = std::get_if<CannotTell>(&verdict)) {
    note_answer(records, view, fmt::format("verify cannot tell: {}", unknown->why));
  } else {
    note_answer(records, view, "verify: it did not take effect");
  }
}

}  // namespace

Result<Verdict> verify_call(Session& session, Position call) {
  SessionParts& parts = session.parts();
  if (auto known = parts.writer.settle_unknown_commit(); !known) return forward(known);
  auto view = find_in_doubt(parts, call);
  if (!view) return forward(view);
  if (auto can = check_can_be_asked(*view); !can) return forward(can);
  // What still runs of it could take effect after the answer.
  auto left = parts.dispatcher.end_leftovers(*view);
  if (!left) return forward(left);
  Result<Verdict> verdict =
      *left ? CannotTell{fmt::format("something of it may still run: {}", **left)}
            : parts.dispatcher.verify(*view);
  if (!verdict) return verdict;
  Draft draft = parts.writer.draft();
  Records records(parts.writer, draft);
  write_verdict(records, *view, *verdict);
  if (auto receipt = parts.writer.commit(std::move(draft)); !receipt) return forward(receipt);
  return verdict;
}

}  // namespace perdure
