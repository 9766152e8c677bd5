// What to do next about a call that is not settled. Pure: facts in, a decision out.
//
// The rules (all times are the store's):
//
//   intended                     run it
//   dispatched or in doubt, and
//     read_only                  run it again: nothing happened. At its limit of attempts, or if it
//                                can no longer be made: give it up, which is an error for the model
//     an attempt of ours runs    wait for its end
//     something of it may run    by policy: ask, or tell the model
//     at its limit of attempts   ask
//     idempotent, in its window  run it again with the same key; past it: as verifiable
//     answered by its session    run it again: nothing happened
//     verifiable                 verify: landed      settle
//                                        not landed  run it again, once the old attempt
//                                                    can no longer land; till then wait
//                                        cannot tell by policy
//     unsafe                     by policy: ask, or tell the model

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "perdure/core/time.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::dispatch {

/// What became of the process that made the last attempt.
enum class Maker : std::uint8_t {
  running,  ///< It is this process, and the attempt has not returned.
  done,     ///< It is this process, and the attempt has returned.
  gone,     ///< Another process, known to be dead.
  unknown,  ///< Another process that lost its lease: it may still go on where it stopped.
};

struct CallFacts {
  CallState state = CallState::intended;
  EffectClass effect = EffectClass::unsafe;  ///< As it was when intended.
  std::int64_t attempts = 0;
  std::optional<Timestamp> first_dispatch{};
  Maker maker = Maker::done;
  /// The last moment at which the last attempt could have sent something.
  Timestamp sent_before{};
  std::optional<Verdict> verdict{};  ///< Of a verify since the last attempt.
  /// When that verify was asked: it may have looked at once, and answered long after.
  Timestamp verify_began{};
  /// Why something of the last attempt may still run; empty: nothing is known to.
  std::optional<std::string> left{};
  std::string doubt{};  ///< What is recorded of the last attempt, if it came to no outcome.
};

/// Start the call's next attempt.
struct RunIt {
  /// No attempt so far took effect, and none can any more: verify said so.
  bool none_landed = false;
};
struct VerifyIt {};
/// Not before `until`; without it, until something changes.
struct WaitFor {
  std::optional<Timestamp> until{};
  std::string why{};
};
struct SettleAs {
  Landed landed{};
};
struct AskPerson {
  std::string why{};
};
struct TellModel {
  std::string why{};
};
/// It has failed: of a call that can have done nothing.
struct GiveUp {
  std::string why{};
};
using Decision = std::variant<RunIt, VerifyIt, WaitFor, SettleAs, AskPerson, TellModel, GiveUp>;

/// `tool` is empty if the session has it no longer.
[[nodiscard]] Decision decide(const CallFacts& call, const Tool* tool, OnDoubt on_doubt,
                              Timestamp now);

}  // namespace perdure::dispatch
