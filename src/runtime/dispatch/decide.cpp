// The table of decide.hpp, row by row, and where its facts come from. What is read depends on what is
// known so far: what is denied needs no look at its key. A claim on a key is made by the commit that
// dispatches; here it is only foreseen.

#include "dispatch/decide.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

Decision run_again() { return {.action = CallAction::run_again}; }
Decision verify_it() { return {.action = CallAction::verify}; }
Decision ask(std::string why) { return {.action = CallAction::ask, .why = std::move(why)}; }
Decision refuse(std::string why) { return {.action = CallAction::refuse, .why = std::move(why)}; }
Decision give_up(std::string why) { return {.action = CallAction::give_up, .why = std::move(why)}; }

Decision by_policy(const CallFacts& facts, std::string why) {
  if (facts.on_doubt == OnDoubt::ask) return ask(std::move(why));
  return {.action = CallAction::tell_model, .why = std::move(why)};
}

Decision by_approval(const CallFacts& facts) {
  const auto& word = facts.approval;
  // A person's no counts, whatever the policy says now.
  if (word && word->decision == ApprovalDecision::refused) {
    return refuse(fmt::format("{} did not allow this call: {}", word->who, word->why));
  }
  const bool is_approved = word && word->decision != ApprovalDecision::asked;
  if (facts.permission.permit != Permit::ask || is_approved) return {.action = CallAction::run};
  return {.action = CallAction::ask_approval, .why = "it needs approval"};
}

Decision by_holder(const CallFacts& facts, const Tool& tool) {
  const std::string name = holder_name(*facts.holder);
  if (facts.has_other_args) {
    return refuse(fmt::format("This operation was begun with other arguments, as {}.", name));
  }
  if (facts.holder->state == CallState::succeeded) {
    return {.action = CallAction::replay, .why = fmt::format("a replay of {}", name)};
  }
  if (facts.holder->state == CallState::abandoned) {
    return refuse(
        fmt::format("The same operation was given up as {}: it may have taken effect.", name));
  }
  const std::string who = call_name(facts.holder->session, facts.holder->position);
  const Timestamp intended_at = facts.call.row.intended_at;
  const Timestamp until = (intended_at == Timestamp{} ? facts.now : intended_at) + tool.timeout;
  if (facts.now < until) {
    return {.action = CallAction::wait,
            .why = fmt::format("the same operation is under way as {}", who),
            .until = until};
  }
  return refuse(
      fmt::format("The same operation was begun as {} and its outcome is not known.", who));
}

Decision policy_failed(const CallFacts& facts) {
  Decision decision = ask(facts.policy_error->message);
  decision.error = facts.policy_error;
  return decision;
}

Decision about_intended(const CallFacts& facts) {
  const CallView& call = facts.call;
  if (facts.policy_error) return policy_failed(facts);
  if (facts.permission.permit == Permit::deny) return refuse(facts.permission.why);
  if (call.tool == nullptr) {
    return refuse(fmt::format("There is no tool {} any more.", call.open.tool));
  }
  if (!call.args) return refuse("Its arguments are not a JSON object, or can no longer be read.");
  // As a read it would be run again without asking.
  if (call.is_read_only() && effect_class_of(*call.tool) != EffectClass::read_only) {
    return refuse(
        fmt::format("{} only read when this call was asked for, and no longer does. Ask "
                    "for it again.",
                    call.open.tool));
  }
  if (facts.blocked_by) return refuse(*facts.blocked_by);
  if (facts.holder) return by_holder(facts, *call.tool);
  if (facts.claim && !call.open.is_retried) return ask(*facts.claim);
  return by_approval(facts);
}

// The vendor must still know the key when the attempt arrives, not only when it starts. The age of
// something in the clock's future is unknown; clocks of two machines differ a little.
bool is_in_window(const CallFacts& facts, const Tool& tool) {
  if (!tool.key_window) return true;
  const Timestamp first = facts.call.open.first_attempt.value_or(Timestamp{});
  const Timestamp arrival = facts.now + tool.timeout;
  return first <= arrival && arrival < first + *tool.key_window;
}

// A wait until the old attempt can no longer take effect; empty if it cannot any more.
std::optional<Decision> still_landing(const CallFacts& facts, const Tool& tool, Timestamp now) {
  const bool is_remote = !tool.side_effects || tool.side_effects->network;
  if (is_remote) {
    const Timestamp until = facts.sent_before + tool.in_flight_max;
    if (now >= until) return std::nullopt;
    return Decision{
        .action = CallAction::wait, .why = "its request may still be under way", .until = until};
  }
  if (facts.maker != Maker::unknown) return std::nullopt;
  return Decision{.action = CallAction::wait, .why = "the process that ran it may still be alive"};
}

// Of a verdict other than `Landed`.
Decision by_verdict(const CallFacts& facts, const Tool& tool) {
  if (!facts.verdict) return verify_it();
  if (const auto* open = std::get_if<CannotTell>(&*facts.verdict)) {
    return by_policy(facts, fmt::format("verify cannot tell: {}", open->why));
  }
  if (auto wait = still_landing(facts, tool, facts.now)) return *std::move(wait);
  // The old attempt could land after verify looked and before it answered.
  if (still_landing(facts, tool, facts.verify_began)) return verify_it();
  return {.action = CallAction::run_again, .none_landed = true};
}

Decision about_unresolved(const CallFacts& facts, const Tool& tool) {
  const EffectClass effect = facts.call.row.effect;
  const bool is_keyed = tool.honours_key && is_in_window(facts, tool);
  // What its session answers takes effect with its outcome, and there is none.
  const bool may_repeat = effect == EffectClass::idempotent && (is_keyed || tool.answer);
  if (may_repeat) return run_again();
  const bool is_safe = effect == EffectClass::idempotent || effect == EffectClass::verifiable;
  if (is_safe && tool.verify) return by_verdict(facts, tool);
  if (effect == EffectClass::idempotent) {
    return by_policy(facts, "the vendor may have forgotten its key");
  }
  return by_policy(facts, "it is unknown whether it took effect");
}

// No person is asked: it changed nothing, and the model can ask for it again.
Decision about_read(const CallFacts& facts, const Tool* tool) {
  if (tool == nullptr) return give_up("its tool is gone, or its arguments can no longer be read");
  // A second run of what it has become could be a second effect.
  if (effect_class_of(*tool) != EffectClass::read_only) {
    return give_up("its tool no longer only reads");
  }
  if (facts.maker == Maker::running) return give_up("it did not stop when its time was over");
  if (facts.left) return give_up("something of it may still run: " + *facts.left);
  const std::int64_t attempts = facts.call.row.attempts;
  if (attempts < tool->attempts_max) return run_again();
  const std::string doubt = facts.call.open.doubt.value_or("");
  return give_up(doubt.empty() ? fmt::format("{} attempts came to no end", attempts) : doubt);
}

// With what the last attempt said, once.
std::string at_the_limit(const CallView& call) {
  std::string why = fmt::format("{} attempts, and none is known to have worked", call.row.attempts);
  const std::string doubt = call.open.doubt.value_or("");
  if (doubt.starts_with(why)) return doubt;
  return doubt.empty() ? why : why + "; " + doubt;
}

Decision about_begun(const CallFacts& facts) {
  const CallView& call = facts.call;
  const Tool* const tool = call.args ? call.tool : nullptr;  // Null: it cannot be made.
  if (call.open.is_retried && tool != nullptr) return run_again();
  if (call.is_read_only()) return about_read(facts, tool);
  if (facts.maker == Maker::running) {
    return {.action = CallAction::wait, .why = "an attempt is still running"};
  }
  if (tool == nullptr) return ask("the session no longer has this tool");
  if (facts.left) return by_policy(facts, "something of it may still run: " + *facts.left);
  if (facts.verdict && std::holds_alternative<Landed>(*facts.verdict)) {
    return {.action = CallAction::settle, .why = "it took effect"};
  }
  if (call.row.attempts >= tool->attempts_max) {
    if (tool->verify && !facts.verdict) return verify_it();
    return ask(at_the_limit(call));
  }
  return about_unresolved(facts, *tool);
}

// Why a call that was started may not be started once more; empty: it may. What is forbidden since
// is not run. A bundle that was not accepted starts nothing: a person decides about its calls, and
// a decision to run one needs no other approval.
std::optional<std::string> find_objection(const CallFacts& facts) {
  if (facts.permission.permit == Permit::deny) {
    return "it is no longer allowed: " + facts.permission.why;
  }
  if (facts.call.open.is_retried) return std::nullopt;
  if (facts.call.row.claimed) {
    return "an imported bundle, which was not accepted, says that it was started";
  }
  if (by_approval(facts).action == CallAction::run) return std::nullopt;
  return "it needs a new approval";
}

}  // namespace

Decision decide(const CallFacts& facts) {
  const CallView& call = facts.call;
  if (call.open.is_told && !call.open.is_retried) {
    return {.action = CallAction::tell_model, .why = "the model has been told"};
  }
  if (call.row.state == CallState::intended) return about_intended(facts);
  Decision next = about_begun(facts);
  if (next.action != CallAction::run_again) return next;
  if (facts.policy_error) return policy_failed(facts);
  auto objection = find_objection(facts);
  if (!objection) return next;
  return call.is_read_only() ? give_up(*std::move(objection)) : ask(*std::move(objection));
}

std::string holder_name(const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  // Only what is left of a removed session has no arguments.
  if (holder.args != 0) return name;
  return fmt::format("{} of a session that was deleted since", name);
}

namespace {

bool may_have_taken_effect(const Call& call) {
  const bool is_unresolved =
      call.state == CallState::dispatched || call.state == CallState::in_doubt;
  return is_unresolved && call.effect != EffectClass::read_only;
}

// A fork's model hears of calls shared with the parent, too; they block until the parent knows.
Result<std::optional<std::string>> find_block(const FactSource& source, const CallView& call) {
  if (call.is_read_only()) return std::nullopt;  // It can repeat nothing.
  for (const auto& [position, other] : source.state.details->open_calls) {
    if (position == call.call() || other.tool != call.open.tool) continue;
    const bool by_arguments = call.tool->blocking == Blocking::same_arguments;
    if (by_arguments && other.args_digest != call.open.args_digest) continue;
    auto inherited = find_inherited(source.store, source.session, other);
    if (!inherited) return forward(inherited);
    if (*inherited ? !may_have_taken_effect(**inherited) : !other.is_told) continue;
    const SessionId& whose = *inherited ? (*inherited)->session : source.session;
    return fmt::format(
        "An earlier call of {} is in doubt ({}): it may have taken effect. "
        "Until it is resolved, this tool is not called.",
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
  auto claims = store.lookup().find_claims(*call.key);
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

Result<void> add_facts_of_intended(const FactSource& source, CallFacts& facts) {
  const CallView& call = facts.call;
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
  auto facts = read_facts(source, std::move(view));
  if (!facts) return forward(facts);
  // Without the agent, only that people were asked says that it needs approval.
  if (stand_in && facts->approval) facts->permission.permit = Permit::ask;
  Decision decision = decide(*facts);
  return PlannedCall{.call = std::move(facts->call.row),
                     .action = decision.action,
                     .why = std::move(decision.why),
                     .until = decision.until};
}

Result<std::vector<Call>> find_inherited_doubts(Store& store, const SessionSummary& fork,
                                                const State& state) {
  std::vector<Call> inherited;
  std::vector<SessionId> line{fork.id};
  while (!state.details->open_calls.empty()) {
    auto parent = forked_from(store, line);
    if (!parent) return forward(parent);
    if (!*parent) break;
    auto calls = store.ledger().list({.session = line.back(),
                                      .states = {CallState::dispatched, CallState::in_doubt},
                                      .limit = limit_max});
    if (!calls && calls.error().code == ErrorCode::not_found) break;  // It was deleted since.
    if (!calls) return forward(calls);
    for (Call& call : *calls) {
      const bool is_shared =
          call.position <= (*parent)->position && state.details->open_calls.contains(call.position);
      if (is_shared) inherited.push_back(std::move(call));
    }
  }
  return inherited;
}

}  // namespace

FactSource facts_of(const SessionWriter& writer) {
  return {.store = writer.deps().store,
          .session = writer.lease().session,
          .state = writer.state(),
          .policy = writer.deps().policy,
          .now = writer.deps().clock.now()};
}

Result<PermitDecision> ask_policy(const Policy& policy, const State& state,
                                  const ProposedCall& call) {
  if (!policy.permit) return PermitDecision{.permit = Permit::allow};
  return guarded("the policy's `permit`", [&] { return policy.permit(state, call); });
}

Result<CallFacts> read_facts(const FactSource& source, CallView view) {
  CallFacts facts{.call = std::move(view),
                  .maker = Maker::gone,
                  .on_doubt = source.policy.on_doubt,
                  .now = source.now};
  const CallView& call = facts.call;
  facts.permission = call.open.permission;
  if (const auto* word = source.state.details->approvals.find(call.call(), call.open.args_digest)) {
    facts.approval = *word;
  }
  auto now = permission_now(source, call);
  if (now) {
    facts.permission = stricter(std::move(facts.permission), *std::move(now));
  } else {
    facts.policy_error = std::move(now).error();
  }
  const bool may_be_made = now && facts.permission.permit != Permit::deny && call.tool != nullptr &&
                           call.args && !call.open.is_told;
  if (call.row.state == CallState::intended && may_be_made) {
    if (auto added = add_facts_of_intended(source, facts); !added) return forward(added);
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
      "a bundle that was not accepted says that this was done: {} ({} {}), {} {}, answered {}{}",
      call_name(first.session, first.position), first.tool,
      *args ? excerpt(**args) : "with arguments that are not kept", to_string(first.state),
      to_iso8601(first.settled_at.value_or(first.intended_at)),
      *result ? excerpt((*result)->content) : "what is not kept", others);
}

Result<std::optional<Told>> claimed_result(Store& store, const Call& call) {
  auto claims = claims_of(store, call);
  if (!claims) return forward(claims);
  if (claims->empty()) return std::nullopt;
  return recorded_result(store, claims->front());
}

Result<Told> replayed(Store& store, const Call& holder) {
  auto result = recorded_result(store, holder);
  if (!result) return forward(result);
  Told told = std::move(*result).value_or(
      Told{.content = fmt::format("This was done before, as {}; its result is no longer kept.",
                                  holder_name(holder))});
  told.replay_of = call_name(holder.session, holder.position);
  return told;
}

}  // namespace perdure::dispatch

namespace perdure {

Result<RecoveryPlan> plan_recovery(Store& store, const SessionSummary& row, const State& state,
                                   const RecoveryRules& rules) {
  const dispatch::FactSource source{
      .store = store, .session = row.id, .state = state, .policy = rules.policy, .now = rules.now};
  RecoveryPlan plan;
  auto is_lost = has_lost_a_response(store, row, state);
  if (!is_lost) return forward(is_lost);
  plan.asks_model_again = *is_lost;
  const Tools no_tools;
  const Tools& tools = rules.tools != nullptr ? *rules.tools : no_tools;  // Views point into it.
  // What the log does not have open is open only if its intent could not be read.
  if (!state.details->open_calls.empty() || !state.details->skipped.empty() || row.attention > 0) {
    auto views = dispatch::unsettled_views(source, tools);
    if (!views) return forward(views);
    for (dispatch::CallView& view : *views) {
      auto planned = dispatch::plan_call(source, std::move(view), rules);
      if (!planned) return forward(planned);
      plan.calls.push_back(*std::move(planned));
    }
  }
  auto inherited = dispatch::find_inherited_doubts(store, row, state);
  if (!inherited) return forward(inherited);
  plan.inherited = *std::move(inherited);
  return plan;
}

}  // namespace perdure
