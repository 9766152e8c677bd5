// The claim itself is made by the commit that dispatches; here it is only foreseen.

#include "dispatch/admission.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/key.hpp"
#include "runtime/api/recorded.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {
namespace {

Waiting waiting_for(const OpenCall& call, Waiting::For what, std::string why) {
  return {.call = call.call, .tool = call.tool, .what = what, .why = std::move(why)};
}

bool may_have_taken_effect(const Call& call) {
  const bool is_unresolved =
      call.state == CallState::dispatched || call.state == CallState::in_doubt;
  return is_unresolved && call.effect != EffectClass::read_only;
}

// What a fork shares with its parent is told to its model, too; it blocks until the parent knows.
Result<std::optional<Refuse>> find_block(HeldSession& held, const CallView& call) {
  if (call.is_read_only()) return std::nullopt;  // It can repeat nothing.
  for (const auto& [position, other] : held.state().open_calls) {
    if (position == call.call() || other.tool != call.open.tool) continue;
    const bool by_arguments = call.tool->blocking == Blocking::same_arguments;
    if (by_arguments && other.args_digest != call.open.args_digest) continue;
    auto inherited = find_inherited(held, other);
    if (!inherited) return forward(inherited);
    if (*inherited ? !may_have_taken_effect(**inherited) : !other.is_told) continue;
    const SessionId& whose = *inherited ? (*inherited)->session : held.lease().session;
    return Refuse{
        fmt::format("An earlier call of {} is in doubt ({}): it may have taken effect. "
                    "Until somebody resolves it, this tool is not called.",
                    other.tool, call_name(whose, position))};
  }
  return std::nullopt;
}

Result<Admission> replay(Store& store, const Call& holder) {
  auto result = recorded_result(store, holder);
  if (!result) return forward(result);
  if (*result) {
    return Admission(Replay{
        .of = holder, .content = std::move((*result)->text), .is_error = (*result)->is_error});
  }
  return Admission(
      Replay{.of = holder,
             .content = fmt::format("This was done before, as {}; its result is no longer kept.",
                                    holder_name(holder))});
}

// What is gone cannot be compared; the key alone says then that it is the same.
Result<bool> has_other_arguments(Store& store, const CallView& call, const Call& holder) {
  if (call.tool->business_key.empty()) return false;
  auto text = recorded_args(store, holder);
  if (!text) return forward(text);
  const auto args = *text ? parse_args(**text) : Result<Json>(Json());
  if (!*text || !args) return false;
  const auto first = args_digest_of(*call.tool, *args);
  return !first || *first != call.open.args_digest;
}

// Those that say it was done first: one that failed says nothing.
Result<std::vector<Call>> claims_of(Store& store, const Call& call) {
  if (!call.key) return std::vector<Call>{};
  auto claims = store.ledger().find_claims(*call.key);
  if (!claims) return claims;
  std::ranges::stable_partition(
      *claims, [](const Call& claim) { return claim.state == CallState::succeeded; });
  return claims;
}

/// In quotes, on one line.
std::string excerpt(std::string_view text) {
  constexpr std::size_t bytes_max = 200;
  std::size_t end = std::min(text.size(), bytes_max);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  const std::string shown = Json(std::string(text.substr(0, end))).text();
  return end < text.size() ? shown + "…" : shown;
}

Admission while_unsettled(const HeldSession& held, const CallView& call, const Call& holder) {
  const std::string who = call_name(holder.session, holder.position);
  const Timestamp since =
      call.row.intended_at == Timestamp{} ? held.world().clock.now() : call.row.intended_at;
  const Timestamp until = since + call.tool->timeout;
  if (held.world().clock.now() < until) {
    Waiting waiting = waiting_for(call.open, Waiting::For::time,
                                  fmt::format("the same operation is under way as {}", who));
    waiting.until = until;
    return HoldBack{std::move(waiting)};
  }
  return Refuse{
      fmt::format("The same operation was begun as {} and its outcome is not known.", who)};
}

Result<Admission> by_holder(HeldSession& held, const CallView& call, const Call& holder) {
  auto differs = has_other_arguments(held.world().store, call, holder);
  if (!differs) return forward(differs);
  if (*differs) {
    return Admission(Refuse{
        fmt::format("This operation was begun with other arguments, as {}.", holder_name(holder))});
  }
  switch (holder.state) {
    case CallState::succeeded:
      return replay(held.world().store, holder);
    case CallState::abandoned:
      return Admission(
          Refuse{fmt::format("The same operation was given up as {}: it may have "
                             "taken effect.",
                             holder_name(holder))});
    default:
      return Admission(while_unsettled(held, call, holder));
  }
}

}  // namespace

Result<std::optional<std::string>> find_claimed(Store& store, const Call& call) {
  auto claims = claims_of(store, call);
  if (!claims) return forward(claims);
  if (claims->empty()) return std::nullopt;
  const Call& first = claims->front();
  auto args = recorded_args(store, first);
  if (!args) return forward(args);
  auto result = recorded_result(store, first);
  if (!result) return forward(result);
  const std::string others =
      claims->size() > 1 ? fmt::format(" ({} calls say so)", claims->size()) : "";
  return fmt::format(
      "a bundle that nobody accepted says that this was done: {} ({} {}), {} {}, answered {}{}",
      call_name(first.session, first.position), first.tool,
      *args ? excerpt(**args) : "with arguments that are not kept", to_string(first.state),
      to_iso8601(first.settled_at.value_or(first.intended_at)),
      *result ? excerpt((*result)->text) : "what is not kept", others);
}

Result<std::optional<Recorded>> claimed_result(Store& store, const Call& call) {
  auto claims = claims_of(store, call);
  if (!claims) return forward(claims);
  if (claims->empty()) return std::nullopt;
  return recorded_result(store, claims->front());
}

Result<std::optional<std::string>> ask_policy(const Policy& policy, const State& state,
                                              const ProposedCall& call) {
  if (!policy.refuse) return std::nullopt;
  return guarded("the policy's `refuse`", [&] { return policy.refuse(state, call); });
}

// A response that is about to be recorded is not in the state yet: its calls were asked about when
// they were intended.
Result<std::optional<Refuse>> by_policy(const Policy& policy, const State& state,
                                        const OpenCall& call) {
  const Message* response = find_message(state, call.message);
  if (response == nullptr || call.block >= response->blocks.size()) return std::nullopt;
  if (!std::holds_alternative<ToolCallBlock>(response->blocks[call.block])) return std::nullopt;
  auto why = ask_policy(policy, state,
                        {.response = *response, .block = call.block, .message = call.message});
  if (!why) return forward(why);
  if (!*why) return std::nullopt;
  return Refuse{**std::move(why)};
}

Result<Admission> by_approval(const Policy& policy, const State& state, const OpenCall& call,
                              const Tool& tool, const Json& args) {
  auto needs = guarded("the policy's `needs_approval`",
                       [&] { return policy.needs_approval && policy.needs_approval(tool, args); });
  if (!needs) return forward(needs);
  if (!*needs || state.approvals.covers(call.call, call.args_digest)) return Admission(Admit{});
  const Approval* word = state.approvals.find(call.call, call.args_digest);
  if (word != nullptr && word->decision == ApprovalDecision::refused) {
    return Admission(Refuse{fmt::format("{} did not allow this call: {}", word->who, word->why)});
  }
  return Admission(HoldBack{waiting_for(call, Waiting::For::approval, "it needs approval")});
}

Result<Admission> admit(HeldSession& held, const CallView& call) {
  const Policy& policy = held.world().policy;
  auto refused = by_policy(policy, held.state(), call.open);
  if (!refused) return forward(refused);
  if (*refused) return Admission(**std::move(refused));
  if (call.tool == nullptr) {
    return Admission(Refuse{fmt::format("There is no tool {} any more.", call.open.tool)});
  }
  if (!call.args)
    return Admission(Refuse{"Its arguments are not a JSON object, or can no longer be read."});
  // As a read it would be run again without asking.
  if (call.is_read_only() && effect_class_of(*call.tool) != EffectClass::read_only) {
    return Admission(
        Refuse{fmt::format("{} only read when this call was asked for, and no longer "
                           "does. Ask for it again.",
                           call.open.tool)});
  }
  auto blocked = find_block(held, call);
  if (!blocked) return forward(blocked);
  if (*blocked) return Admission(**std::move(blocked));
  // As the rule was when it was intended: its key was made by that one.
  if (call.row.key && call.open.repeat != to_string(Repeat::each_call)) {
    auto holder = held.world().store.ledger().find_holder(*call.row.key);
    if (!holder) return forward(holder);
    if (*holder) return by_holder(held, call, **holder);
    auto claimed = find_claimed(held.world().store, call.row);
    if (!claimed) return forward(claimed);
    if (*claimed && !call.open.is_retried) {
      return Admission(
          HoldBack{waiting_for(call.open, Waiting::For::decision, **std::move(claimed))});
    }
  }
  return by_approval(policy, held.state(), call.open, *call.tool, *call.args);
}

Result<std::optional<std::string>> find_objection(const HeldSession& held, const CallView& call) {
  const Policy& policy = held.world().policy;
  auto refused = by_policy(policy, held.state(), call.open);
  if (!refused) return forward(refused);
  if (*refused) return "it is no longer allowed: " + (*refused)->why;
  if (call.open.is_retried) return std::nullopt;
  if (call.row.claimed)
    return "an imported bundle, which was not accepted, says that it was started";
  if (call.tool == nullptr || !call.args) return std::nullopt;
  auto approved = by_approval(policy, held.state(), call.open, *call.tool, *call.args);
  if (!approved) return forward(approved);
  if (std::holds_alternative<Admit>(*approved)) return std::nullopt;
  return "it needs a new approval";
}

}  // namespace perdure::dispatch
