// What to do next about a call that has no outcome, and why. The facts are gathered from the log, the
// ledger and the policy; decide() is pure: facts in, a decision out.
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

#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {

/// What became of the process that made the last attempt.
enum class Maker : std::uint8_t {
  running,  ///< It is this process, and the attempt has not returned.
  done,     ///< It is this process, and the attempt has returned.
  gone,     ///< Another process, known to be dead.
  unknown,  ///< Another process that lost its lease: it may still continue where it stopped.
};

struct CallFacts {
  CallView call{};
  /// The stricter of what the intent records and what the policy says now.
  PermitDecision permission{.permit = Permit::allow};
  std::optional<Error> policy_error{};  ///< The policy threw: nothing is known to be permitted.
  std::optional<Approval> approval{};   ///< The latest decision of a person about it.

  // Of a call that was not started.
  /// A call in doubt that keeps its tool from being called.
  std::optional<std::string> blocked_by{};
  std::optional<Call> holder{};  ///< Another call that holds its key.
  bool has_other_args = false;   ///< The holder does, under a business key.
  /// Imported bundles that were not accepted say that it was done.
  std::optional<std::string> claim{};

  // Of a call that was started.
  Maker maker = Maker::done;
  /// The last moment at which the last attempt could have sent something.
  Timestamp sent_before{};
  std::optional<Verdict> verdict{};  ///< Of a verify since the last attempt.
  /// When that verify was asked: it may have looked at once, and answered long after.
  Timestamp verify_began{};
  /// Why something of the last attempt may still run; empty: nothing is known to.
  std::optional<std::string> left{};

  OnDoubt on_doubt = OnDoubt::ask;
  Timestamp now{};
};

struct Decision {
  CallAction action = CallAction::ask;
  std::string why{};
  std::optional<Timestamp> until{};  ///< Of `wait`; empty: until something changes.
  /// Of `run_again`: no attempt so far took effect, and none can any more: verify said so.
  bool none_landed = false;
  /// Of `ask`: the policy threw, so there is nothing to ask about yet.
  std::optional<Error> error{};
};

[[nodiscard]] Decision decide(const CallFacts& facts);

/// How the holder of a key is named to people and models. Its session may be gone, and its id be
/// that of another one now.
[[nodiscard]] std::string holder_name(const Call& holder);

/// Where the facts about a session's calls come from.
struct FactSource {
  Store& store;
  const SessionId& session;
  const State& state;
  const Policy& policy;
  Timestamp now{};
};
[[nodiscard]] FactSource facts_of(const SessionWriter& writer);

/// Policy::permit; without one every call is allowed. Fails: `unavailable` if it throws.
[[nodiscard]] Result<PermitDecision> ask_policy(const Policy& policy, const State& state,
                                                const ProposedCall& call);

/// All facts about a call but what this process knows of its attempts (maker, verdict, what is left of
/// it): those are as of one whose owner has ended.
/// Fails: as the store's readers.
[[nodiscard]] Result<CallFacts> read_facts(const FactSource& source, CallView call);

/// What claims say of the call, for the person who decides; empty: there are none.
[[nodiscard]] Result<std::optional<std::string>> find_claimed(Store& store, const Call& call);
/// What the claim that is named there says came of it.
[[nodiscard]] Result<std::optional<Told>> claimed_result(Store& store, const Call& call);

/// What the model gets of a call that is replayed.
/// Fails: as Log::read.
[[nodiscard]] Result<Told> replayed(Store& store, const Call& holder);

}  // namespace perdure::dispatch
