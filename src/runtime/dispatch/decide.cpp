// The table of decide.hpp, row by row.

#include "dispatch/decide.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::dispatch {
namespace {

Decision run_again() { return {.action = CallAction::run_again}; }
Decision verify_it() { return {.action = CallAction::verify}; }
Decision ask(std::string why) { return {.action = CallAction::ask, .why = std::move(why)}; }
Decision refuse(std::string why) { return {.action = CallAction::refuse, .why = std::move(why)}; }
Decision give_up(std::string why) { return {.action = CallAction::give_up, .why = std::move(why)}; }

Decision by_policy(OnDoubt on_doubt, std::string why) {
  if (on_doubt == OnDoubt::ask) return ask(std::move(why));
  return {.action = CallAction::tell_model, .why = std::move(why)};
}

bool is_approved(const CallFacts& call) {
  return call.approval && (call.approval->decision == ApprovalDecision::given ||
                           call.approval->decision == ApprovalDecision::used);
}

Decision by_approval(const CallFacts& call) {
  // A person's no counts, whatever the policy says now.
  if (call.approval && call.approval->decision == ApprovalDecision::refused) {
    return refuse(
        fmt::format("{} did not allow this call: {}", call.approval->who, call.approval->why));
  }
  if (call.permission.permit != Permit::ask || is_approved(call)) {
    return {.action = CallAction::run};
  }
  return {.action = CallAction::ask_approval, .why = "it needs approval"};
}

Decision while_unsettled(const CallFacts& call, const Tool& tool, Timestamp now) {
  const std::string who = call_name(call.holder->session, call.holder->position);
  const Timestamp since = call.intended_at == Timestamp{} ? now : call.intended_at;
  const Timestamp until = since + tool.timeout;
  if (now < until) {
    return {.action = CallAction::wait,
            .why = fmt::format("the same operation is under way as {}", who),
            .until = until};
  }
  return refuse(
      fmt::format("The same operation was begun as {} and its outcome is not known.", who));
}

Decision by_holder(const CallFacts& call, const Tool& tool, Timestamp now) {
  const std::string name = holder_name(*call.holder);
  if (call.has_other_args) {
    return refuse(fmt::format("This operation was begun with other arguments, as {}.", name));
  }
  if (call.holder->state == CallState::succeeded) {
    return {.action = CallAction::replay, .why = fmt::format("a replay of {}", name)};
  }
  if (call.holder->state == CallState::abandoned) {
    return refuse(
        fmt::format("The same operation was given up as {}: it may have taken effect.", name));
  }
  return while_unsettled(call, tool, now);
}

Decision policy_failed(const CallFacts& call) {
  Decision decision = ask(call.policy_error->message);
  decision.error = call.policy_error;
  return decision;
}

Decision about_intended(const CallFacts& call, const Tool* tool, Timestamp now) {
  if (call.policy_error) return policy_failed(call);
  if (call.permission.permit == Permit::deny) return refuse(call.permission.why);
  if (tool == nullptr) return refuse(fmt::format("There is no tool {} any more.", call.tool));
  if (!call.has_args) {
    return refuse("Its arguments are not a JSON object, or can no longer be read.");
  }
  // As a read it would be run again without asking.
  if (call.effect == EffectClass::read_only && effect_class_of(*tool) != EffectClass::read_only) {
    return refuse(
        fmt::format("{} only read when this call was asked for, and no longer does. Ask "
                    "for it again.",
                    call.tool));
  }
  if (call.blocked_by) return refuse(*call.blocked_by);
  if (call.holder) return by_holder(call, *tool, now);
  if (call.claim && !call.is_retried) return ask(*call.claim);
  return by_approval(call);
}

// The vendor must still know the key when the attempt arrives, not only when it starts. How long ago
// something was that the clock calls the future, nobody knows; clocks of two machines differ a little.
bool is_in_window(const CallFacts& call, const Tool& tool, Timestamp now) {
  if (!tool.key_window) return true;
  const Timestamp first = call.first_dispatch.value_or(Timestamp{});
  const Timestamp arrival = now + tool.timeout;
  return first <= arrival && arrival < first + *tool.key_window;
}

// A wait until the old attempt can no longer take effect; empty if it cannot any more.
std::optional<Decision> still_landing(const CallFacts& call, const Tool& tool, Timestamp now) {
  const bool is_remote = !tool.side_effects || tool.side_effects->network;
  if (is_remote) {
    const Timestamp until = call.sent_before + tool.in_flight_max;
    if (now >= until) return std::nullopt;
    return Decision{
        .action = CallAction::wait, .why = "its request may still be under way", .until = until};
  }
  if (call.maker != Maker::unknown) return std::nullopt;
  return Decision{.action = CallAction::wait, .why = "the process that ran it may still be alive"};
}

// Of a verdict other than `Landed`.
Decision by_verdict(const CallFacts& call, const Tool& tool, OnDoubt on_doubt, Timestamp now) {
  if (!call.verdict) return verify_it();
  if (const auto* open = std::get_if<CannotTell>(&*call.verdict)) {
    return by_policy(on_doubt, fmt::format("verify cannot tell: {}", open->why));
  }
  if (auto wait = still_landing(call, tool, now)) return *std::move(wait);
  // The old attempt could land after verify looked and before it answered.
  if (still_landing(call, tool, call.verify_began)) return verify_it();
  return {.action = CallAction::run_again, .none_landed = true};
}

Decision about_unresolved(const CallFacts& call, const Tool& tool, OnDoubt on_doubt,
                          Timestamp now) {
  const bool is_keyed = tool.honours_key && is_in_window(call, tool, now);
  // What its session answers takes effect with its outcome, and there is none.
  const bool may_repeat = call.effect == EffectClass::idempotent && (is_keyed || tool.answer);
  if (may_repeat) return run_again();
  const bool is_safe =
      call.effect == EffectClass::idempotent || call.effect == EffectClass::verifiable;
  if (is_safe && tool.verify) return by_verdict(call, tool, on_doubt, now);
  if (call.effect == EffectClass::idempotent) {
    return by_policy(on_doubt, "the vendor may have forgotten its key");
  }
  return by_policy(on_doubt, "nobody can tell whether it took effect");
}

// Nobody need be asked: it changed nothing, and the model can ask for it again.
Decision about_read(const CallFacts& call, const Tool* tool) {
  if (tool == nullptr) return give_up("its tool is gone, or its arguments can no longer be read");
  // A second run of what it has become could be a second effect.
  if (effect_class_of(*tool) != EffectClass::read_only) {
    return give_up("its tool no longer only reads");
  }
  if (call.maker == Maker::running) return give_up("it did not stop when its time was over");
  if (call.left) return give_up("something of it may still run: " + *call.left);
  if (call.attempts < tool->attempts_max) return run_again();
  return give_up(call.doubt.empty() ? fmt::format("{} attempts came to no end", call.attempts)
                                    : call.doubt);
}

// With what the last attempt said, once.
std::string at_the_limit(const CallFacts& call) {
  std::string why = fmt::format("{} attempts, and none is known to have worked", call.attempts);
  if (call.doubt.starts_with(why)) return call.doubt;
  return call.doubt.empty() ? why : why + "; " + call.doubt;
}

// `tool`: null also if its arguments cannot be read.
Decision about_begun(const CallFacts& call, const Tool* tool, OnDoubt on_doubt, Timestamp now) {
  if (call.is_retried && tool != nullptr) return run_again();
  if (call.effect == EffectClass::read_only) return about_read(call, tool);
  if (call.maker == Maker::running) {
    return {.action = CallAction::wait, .why = "an attempt is still running"};
  }
  if (tool == nullptr) return ask("the session no longer has this tool");
  if (call.left) return by_policy(on_doubt, "something of it may still run: " + *call.left);
  if (call.verdict && std::holds_alternative<Landed>(*call.verdict)) {
    return {.action = CallAction::settle,
            .why = "it took effect",
            .landed = std::get<Landed>(*call.verdict)};
  }
  if (call.attempts >= tool->attempts_max) {
    if (tool->verify && !call.verdict) return verify_it();
    return ask(at_the_limit(call));
  }
  return about_unresolved(call, *tool, on_doubt, now);
}

// Why a call that was begun may not be begun once more; empty: it may. What is forbidden since is not
// run. A bundle that was not accepted starts nothing: a person decides about its calls, and a decision
// to run one needs no other approval.
std::optional<std::string> find_objection(const CallFacts& call) {
  if (call.permission.permit == Permit::deny) {
    return "it is no longer allowed: " + call.permission.why;
  }
  if (call.is_retried) return std::nullopt;
  if (call.is_claimed) {
    return "an imported bundle, which was not accepted, says that it was started";
  }
  if (by_approval(call).action == CallAction::run) return std::nullopt;
  return "it needs a new approval";
}

}  // namespace

Decision decide(const CallFacts& call, const Tool* tool, OnDoubt on_doubt, Timestamp now) {
  if (call.is_told && !call.is_retried) {
    return {.action = CallAction::tell_model, .why = "the model has been told"};
  }
  if (call.state == CallState::intended) return about_intended(call, tool, now);
  Decision next = about_begun(call, call.has_args ? tool : nullptr, on_doubt, now);
  if (next.action != CallAction::run_again) return next;
  if (call.policy_error) return policy_failed(call);
  auto objection = find_objection(call);
  if (!objection) return next;
  return call.effect == EffectClass::read_only ? give_up(*std::move(objection))
                                               : ask(*std::move(objection));
}

std::string holder_name(const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  // Only what is left of a removed session has no arguments.
  if (holder.args != 0) return name;
  return fmt::format("{} of a session that was deleted since", name);
}

}  // namespace perdure::dispatch
