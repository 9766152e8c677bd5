// What to do next about a call that has no outcome, and why. Pure: facts in, a decision out.
//
// The rules (all times are the store's):
//
//   intended                     run it, if it is permitted, nothing blocks it, and no other call
//                                has its key: a call that did it is replayed, one under way is
//                                waited for, other arguments under the key are refused
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
//     not permitted any more     where it would run again: ask; of a read: give it up

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
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
  std::string tool{};                        ///< Its name, whether it is there or not.
  bool has_args = true;                      ///< They can be read, and are an object.
  bool is_told = false;     ///< The model has been told that its outcome is unknown.
  bool is_retried = false;  ///< A person decided that it be run (once more).

  /// The stricter of what the intent records and what the policy says now.
  PermitDecision permission{.permit = Permit::allow};
  std::optional<Error> policy_error{};  ///< The policy threw: nothing is known to be permitted.
  std::optional<Approval> approval{};   ///< The latest decision of a person about it.

  // Of a call that was not begun.
  Timestamp intended_at{};
  std::optional<std::string>
      blocked_by{};              ///< A call in doubt that keeps its tool from being called.
  std::optional<Call> holder{};  ///< Another call that holds its key.
  bool has_other_args = false;   ///< The holder does, under a business key.
  /// Imported bundles that were not accepted say that it was done.
  std::optional<std::string> claim{};

  // Of a call that was begun.
  std::int64_t attempts = 0;
  bool is_claimed = false;  ///< Only an imported bundle, which was not accepted, says that it was.
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

struct Decision {
  CallAction action = CallAction::ask;
  std::string why{};
  std::optional<Timestamp> until{};  ///< Of `wait`; empty: until something changes.
  /// Of `run_again`: no attempt so far took effect, and none can any more: verify said so.
  bool none_landed = false;
  Landed landed{};  ///< Of `settle`.
  std::optional<Error>
      error{};  ///< Of `ask`: the policy threw, so there is nothing to ask about yet.
};

/// `tool` is null if the session has it no longer.
[[nodiscard]] Decision decide(const CallFacts& call, const Tool* tool, OnDoubt on_doubt,
                              Timestamp now);

/// How people and models are told which call holds a key. Its session may be gone, and its id be
/// that of another one now.
[[nodiscard]] std::string holder_name(const Call& holder);

}  // namespace perdure::dispatch
