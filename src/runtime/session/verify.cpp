// The answer is evidence in any case; only "it took effect" settles anything.

#include <fmt/format.h>
#include <string>
#include <utility>
#include <variant>

#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/open_call.hpp"
#include "session/parts.hpp"

namespace perdure {
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
  if (auto known = parts.held.find_out(); !known) return forward(known);
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
  Draft draft = parts.held.draft();
  Records records(parts.held, draft);
  write_verdict(records, *view, *verdict);
  if (auto receipt = parts.held.commit(std::move(draft)); !receipt) return forward(receipt);
  return verdict;
}

}  // namespace perdure
