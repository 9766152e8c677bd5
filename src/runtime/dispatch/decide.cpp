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
  // The old attempt could land after verify looked and before it answered.
  if (still_landing(call, tool, call.verify_began)) return VerifyIt{};
  return RunIt{.none_landed = true};
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

// Nobody need be asked: it changed nothing, and the model can ask for it again.
Decision about_read(const CallFacts& call, const Tool* tool) {
  if (tool == nullptr) return GiveUp{"its tool is gone, or its arguments can no longer be read"};
  // A second run of what it has become could be a second effect.
  if (effect_class_of(*tool) != EffectClass::read_only) {
    return GiveUp{"its tool no longer only reads"};
  }
  if (call.maker == Maker::running) return GiveUp{"it did not stop when its time was over"};
  if (call.left) return GiveUp{"something of it may still run: " + *call.left};
  if (call.attempts < tool->attempts_max) return RunIt{};
  return GiveUp{call.doubt.empty() ? fmt::format("{} attempts came to no end", call.attempts)
                                   : call.doubt};
}

// With what the last attempt said, once.
std::string at_the_limit(const CallFacts& call) {
  std::string why = fmt::format("{} attempts, and none is known to have worked", call.attempts);
  if (call.doubt.starts_with(why)) return call.doubt;
  return call.doubt.empty() ? why : why + "; " + call.doubt;
}

}  // namespace

Decision decide(const CallFacts& call, const Tool* tool, OnDoubt on_doubt, Timestamp now) {
  const bool is_begun = call.state != CallState::intended;
  if (call.effect == EffectClass::read_only && is_begun) return about_read(call, tool);
  if (call.maker == Maker::running) return WaitFor{std::nullopt, "an attempt is still running"};
  if (tool == nullptr) return AskPerson{"the session no longer has this tool"};
  if (!is_begun) return RunIt{};
  if (call.left) return by_policy(on_doubt, "something of it may still run: " + *call.left);
  if (call.verdict && std::holds_alternative<Landed>(*call.verdict)) {
    return SettleAs{std::get<Landed>(*call.verdict)};
  }
  if (call.attempts >= tool->attempts_max) {
    if (tool->verify && !call.verdict) return VerifyIt{};
    return AskPerson{at_the_limit(call)};
  }
  return about_unresolved(call, *tool, on_doubt, now);
}

}  // namespace perdure::dispatch
