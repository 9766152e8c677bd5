// The table of decide.hpp, row by row.

#include "dispatch/decide.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "perdure/core/time.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::dispatch {
namespace {

Decision by_policy(OnDoubt on_doubt, std::string why) {
  if (on_doubt == OnDoubt::tell_model) return TellModel{std::move(why)};
  return AskPerson{std::move(why)};
}

// The vendor must still know the key when the attempt arrives, not only when it starts. How long ago
// something was that the clock calls the future, nobody knows; clocks of two machines differ a little.
bool is_in_window(const CallFacts& call, const Tool& tool, Timestamp now) {
  if (!tool.key_window) return true;
  const Timestamp first = call.first_dispatch.value_or(Timestamp{});
  const Timestamp arrival = now + tool.timeout;
  return first <= arrival && arrival < first + *tool.key_window;
}

// Until when the old attempt may still take effect; empty if it no longer can.
std::optional<WaitFor> still_landing(const CallFacts& call, const Tool& tool, Timestamp now) {
  const bool is_remote = !tool.side_effects || tool.side_effects->network;
  if (is_remote) {
    const Timestamp until = call.sent_before + tool.in_flight_max;
    if (now < until) return WaitFor{until, "its request may still be under way"};
    return std::nullopt;
  }
  if (call.maker == Maker::unknown) {
    return WaitFor{std::nullopt, "the process that ran it may still be alive"};
  }
  return std::nullopt;
}

// Of a verdict other than `Landed`.
Decision by_verdict(const CallFacts& call, const Tool& tool, OnDoubt on_doubt, Timestamp now) {
  if (!call.verdict) return VerifyIt{};
  if (const auto* open = std::get_if<CannotTell>(&*call.verdict)) {
    return by_policy(on_doubt, fmt::format("verify cannot tell: {}", open->why));
  }
  if (auto wait = still_landing(call, tool, now)) return *std::move(wait);
  return RunIt{};
}

Decision about_unresolved(const CallFacts& call, const Tool& tool, OnDoubt on_doubt,
                          Timestamp now) {
  const bool is_keyed = tool.honours_key && is_in_window(call, tool, now);
  // What its session answers takes effect with its outcome, and there is none.
  const bool may_repeat = call.effect == EffectClass::idempotent && (is_keyed || tool.answer);
  if (may_repeat) return RunIt{};
  const bool is_safe =
      call.effect == EffectClass::idempotent || call.effect == EffectClass::verifiable;
  if (is_safe && tool.verify) return by_verdict(call, tool, on_doubt, now);
  if (call.effect == EffectClass::idempotent) {
    return by_policy(on_doubt, "the vendor may have forgotten its key");
  }
  return by_policy(on_doubt, "nobody can tell whether it took effect");
}

}  // namespace

Decision decide(const CallFacts& call, const Tool* tool, OnDoubt on_doubt, Timestamp now) {
  if (call.maker == Maker::running) return WaitFor{std::nullopt, "an attempt is still running"};
  if (tool == nullptr) return AskPerson{"the session no longer has this tool"};
  if (call.state == CallState::intended) return RunIt{};
  if (call.left) return by_policy(on_doubt, "something of it may still run: " + *call.left);
  if (call.verdict && std::holds_alternative<Landed>(*call.verdict)) {
    return SettleAs{std::get<Landed>(*call.verdict)};
  }
  if (call.attempts >= tool->attempts_max) {
    const bool may_verify = tool->verify && !call.verdict && call.effect != EffectClass::read_only;
    if (may_verify) return VerifyIt{};
    return AskPerson{fmt::format("{} attempts, and none is known to have worked", call.attempts)};
  }
  if (call.effect == EffectClass::read_only) return RunIt{};
  return about_unresolved(call, *tool, on_doubt, now);
}

}  // namespace perdure::dispatch
