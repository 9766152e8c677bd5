// What is read depends on what is known so far: what is denied needs no look at its key. A claim on a
// key is made by the commit that dispatches; here it is only foreseen.

#include "dispatch/facts.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/key.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

bool may_have_taken_effect(const Call& call) {
  const bool is_unresolved =
      call.state == CallState::dispatched || call.state == CallState::in_doubt;
  return is_unresolved && call.effect != EffectClass::read_only;
}

// What a fork shares with its parent is told to its model, too; it blocks until the parent knows.
Result<std::optional<std::string>> find_block(const FactSource& source, const CallView& call) {
  if (call.is_read_only()) return std::nullopt;  // It can repeat nothing.
  for (const auto& [position, other] : source.state.open_calls) {
    if (position == call.call() || other.tool != call.open.tool) continue;
    const bool by_arguments = call.tool->blocking == Blocking::same_arguments;
    if (by_arguments && other.args_digest != call.open.args_digest) continue;
    auto inherited = find_inherited(source.store, source.session, other);
    if (!inherited) return forward(inherited);
    if (*inherited ? !may_have_taken_effect(**inherited) : !other.is_told) continue;
    const SessionId& whose = *inherited ? (*inherited)->session : source.session;
    return fmt::format(
        "An earlier call of {} is in doubt ({}): it may have taken effect. "
        "Until somebody resolves it, this tool is not called.",
        other.tool, call_name(whose, position));
  }
  return std::nullopt;
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

// In quotes, on one line.
std::string excerpt(std::string_view text) {
  constexpr std::size_t bytes_max = 200;
  std::size_t end = std::min(text.size(), bytes_max);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  const std::string shown = Json(std::string(text.substr(0, end))).text();
  return end < text.size() ? shown + "…" : shown;
}

// What the policy says now about a call whose response is recorded. Where its message is gone, the
// intent may have its arguments.
Result<PermitDecision> permission_now(const FactSource& source, const CallView& call) {
  if (call.permission) return *call.permission;
  const OpenCall& open = call.open;
  const Message* const response = find_message(source.state, open.message);
  const auto* const block = response != nullptr && open.block < response->blocks.size()
                                ? std::get_if<ToolCallBlock>(&response->blocks[open.block])
                                : nullptr;
  if (block != nullptr) {
    // A bundle may say anything. The policy must judge the call that would be made.
    if (block->name != open.tool || args_of(source.state, open) != block->args) {
      return PermitDecision{.permit = Permit::deny,
                            .why = "the response that asked for this call says another one"};
    }
    return ask_policy(
        source.policy, source.state,
        {.response = *response, .block = open.block, .message = open.message, .tool = call.tool});
  }
  if (!open.args) return PermitDecision{.permit = Permit::allow};
  Message stand_in{.role = Role::assistant};
  stand_in.blocks.emplace_back(
      ToolCallBlock{.id = open.provider_id, .name = open.tool, .args = *open.args});
  return ask_policy(source.policy, source.state, {.response = stand_in, .tool = call.tool});
}

bool has_own_key(const CallView& call) {
  // As the rule was when it was intended: its key was made by that one.
  return call.row.key && call.open.repeat != to_string(Repeat::each_call);
}

Result<void> add_facts_of_intended(const FactSource& source, const CallView& call,
                                   CallFacts& facts) {
  facts.intended_at = call.row.intended_at;
  auto blocked = find_block(source, call);
  if (!blocked) return forward(blocked);
  facts.blocked_by = *std::move(blocked);
  if (facts.blocked_by || !has_own_key(call)) return {};
  auto holder = source.store.ledger().find_holder(*call.row.key);
  if (!holder) return forward(holder);
  if (*holder) {
    auto differs = has_other_arguments(source.store, call, **holder);
    if (!differs) return forward(differs);
    facts.has_other_args = *differs;
    facts.holder = **std::move(holder);
    return {};
  }
  auto claimed = find_claimed(source.store, call.row);
  if (!claimed) return forward(claimed);
  facts.claim = *std::move(claimed);
  return {};
}

// A tool of which only the effect class is known: what the ledger says of a call.
Tool tool_of_class(const Call& call, const OpenCall& open) {
  Tool tool{.name = call.tool, .attempts_max = call.attempts + 1};
  switch (call.effect) {
    case EffectClass::read_only:
      tool.side_effects = SideEffects{.read = true};
      break;
    case EffectClass::idempotent:
      tool.side_effects = SideEffects{.mutate = true};
      tool.honours_key = true;
      break;
    case EffectClass::verifiable:
      tool.verify = [](const VerifyContext&) -> Verdict { return CannotTell{}; };
      break;
    case EffectClass::unsafe:
      break;
  }
  tool.repeat = repeat_from(open.repeat).value_or(Repeat::each_call);
  return tool;
}

// Calls without an outcome, of which the log may no longer have the intent.
Result<std::vector<CallView>> unsettled_views(const FactSource& source, const Tools& tools) {
  auto views = open_calls(source.store, source.session, source.state, tools);
  if (!views) return views;
  std::erase_if(*views, [](const CallView& view) { return is_settled(view.row.state); });
  auto rows = source.store.ledger().list(
      {.session = source.session,
       .states = {CallState::intended, CallState::dispatched, CallState::in_doubt},
       .limit = limit_max});
  if (!rows) return forward(rows);
  for (Call& row : *rows) {
    if (std::ranges::find(*views, row.position, &CallView::call) != views->end()) continue;
    CallView view{.open = {.call = row.position, .tool = row.tool}, .row = std::move(row)};
    view.tool = tools.find(view.open.tool);
    view.args = std::make_shared<const Json>(Json::Object{});
    views->push_back(std::move(view));
  }
  std::ranges::sort(*views, {}, &CallView::call);
  return views;
}

Result<PlannedCall> plan_call(const FactSource& source, CallView view, const RecoveryRules& rules) {
  std::optional<Tool> stand_in;
  if (rules.tools == nullptr) {
    stand_in = tool_of_class(view.row, view.open);
    view.tool = &*stand_in;
  }
  auto facts = read_facts(source, view);
  if (!facts) return forward(facts);
  // Without the agent, only that people were asked says that it needs approval.
  if (stand_in && facts->approval) facts->permission.permit = Permit::ask;
  Decision decision = decide(*facts, view.tool, source.policy.on_doubt, rules.now);
  return PlannedCall{.call = std::move(view.row),
                     .action = decision.action,
                     .why = std::move(decision.why),
                     .until = decision.until};
}

Result<std::vector<Call>> find_inherited_doubts(Store& store, const SessionSummary& fork,
                                                const State& state) {
  std::vector<Call> inherited;
  std::optional<Parent> parent = fork.parent;
  std::vector<SessionId> seen{fork.id};
  // An id may be used again, also by a fork of its own descendant.
  while (parent && parent->lineage == Lineage::fork &&
         std::ranges::find(seen, parent->session) == seen.end()) {
    seen.push_back(parent->session);
    auto calls = store.ledger().list({.session = parent->session,
                                      .states = {CallState::dispatched, CallState::in_doubt},
                                      .limit = limit_max});
    if (!calls && calls.error().code == ErrorCode::not_found) break;  // It was deleted since.
    if (!calls) return forward(calls);
    for (Call& call : *calls) {
      const bool is_shared =
          call.position <= parent->position && state.open_calls.contains(call.position);
      if (is_shared) inherited.push_back(std::move(call));
    }
    const auto row = store.sessions().read(parent->session);
    parent = row ? row->parent : std::nullopt;
  }
  return inherited;
}

}  // namespace

FactSource facts_of(const SessionWriter& writer) {
  return {.store = writer.deps().store,
          .session = writer.lease().session,
          .state = writer.state(),
          .policy = writer.deps().policy};
}

Result<PermitDecision> ask_policy(const Policy& policy, const State& state,
                                  const ProposedCall& call) {
  if (!policy.permit) return PermitDecision{.permit = Permit::allow};
  return guarded("the policy's `permit`", [&] { return policy.permit(state, call); });
}

Result<CallFacts> read_facts(const FactSource& source, const CallView& call) {
  const OpenCall& open = call.open;
  CallFacts facts{.state = call.row.state,
                  .effect = call.row.effect,
                  .tool = open.tool,
                  .has_args = call.args != nullptr,
                  .is_told = open.is_told,
                  .is_retried = open.is_retried,
                  .permission = open.permission,
                  .attempts = call.row.attempts,
                  .is_claimed = call.row.claimed.has_value(),
                  .first_dispatch = open.first_attempt,
                  .maker = Maker::gone,
                  .doubt = open.doubt.value_or("")};
  if (const Approval* const word = source.state.approvals.find(open.call, open.args_digest)) {
    facts.approval = *word;
  }
  auto now = permission_now(source, call);
  if (now) {
    facts.permission = stricter(std::move(facts.permission), *std::move(now));
  } else {
    facts.policy_error = std::move(now).error();
  }
  const bool may_be_made = now && facts.permission.permit != Permit::deny && call.tool != nullptr &&
                           facts.has_args && !facts.is_told;
  if (call.row.state == CallState::intended && may_be_made) {
    if (auto added = add_facts_of_intended(source, call, facts); !added) return forward(added);
  }
  return facts;
}

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

Result<Told> replayed(Store& store, const Call& holder) {
  const std::string of = call_name(holder.session, holder.position);
  auto result = recorded_result(store, holder);
  if (!result) return forward(result);
  if (*result) {
    return Told{
        .content = std::move((*result)->text), .is_error = (*result)->is_error, .replay_of = of};
  }
  return Told{.content = fmt::format("This was done before, as {}; its result is no longer kept.",
                                     holder_name(holder)),
              .replay_of = of};
}

}  // namespace perdure::dispatch

namespace perdure {

Result<RecoveryPlan> plan_recovery(Store& store, const SessionSummary& row, const State& state,
                                   const RecoveryRules& rules) {
  const dispatch::FactSource source{
      .store = store, .session = row.id, .state = state, .policy = rules.policy};
  RecoveryPlan plan;
  auto is_lost = has_lost_a_response(store, row, state);
  if (!is_lost) return forward(is_lost);
  plan.asks_model_again = *is_lost;
  if (state.open_calls.empty()) return plan;
  const Tools no_tools;
  const Tools& tools = rules.tools != nullptr ? *rules.tools : no_tools;  // Views point into it.
  auto views = dispatch::unsettled_views(source, tools);
  if (!views) return forward(views);
  for (dispatch::CallView& view : *views) {
    auto planned = dispatch::plan_call(source, std::move(view), rules);
    if (!planned) return forward(planned);
    plan.calls.push_back(*std::move(planned));
  }
  auto inherited = dispatch::find_inherited_doubts(store, row, state);
  if (!inherited) return forward(inherited);
  plan.inherited = *std::move(inherited);
  return plan;
}

}  // namespace perdure
