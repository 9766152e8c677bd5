// Whether a call that was only intended may be made now.

#pragma once

#include <optional>
#include <string>
#include <variant>

#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/recorded.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

struct Admit {};
/// The operation was done already; the model gets what came of it.
struct Replay {
  Call of{};
  std::string content{};
  bool is_error = false;
};
struct Refuse {
  std::string why{};
};
struct HoldBack {
  Waiting waiting{};
};
using Admission = std::variant<Admit, Replay, Refuse, HoldBack>;

/// Policy::refuse, if there is one. Fails: `unavailable` if it throws.
[[nodiscard]] Result<std::optional<std::string>> ask_policy(const Policy& policy,
                                                            const State& state,
                                                            const ProposedCall& call);

/// What the policy says of a call that is in the state; nothing of one whose response is not.
/// Fails: as ask_policy.
[[nodiscard]] Result<std::optional<Refuse>> by_policy(const Policy& policy, const State& state,
                                                      const OpenCall& call);

/// Whether somebody has to allow it, or did, or did not.
/// Fails: `unavailable` if Policy::needs_approval throws.
[[nodiscard]] Result<Admission> by_approval(const Policy& policy, const State& state,
                                            const OpenCall& call, const Tool& tool,
                                            const Json& args);

/// What claims say of the call, for the person who decides; empty: there are none.
[[nodiscard]] Result<std::optional<std::string>> find_claimed(Store& store, const Call& call);
/// What the claim that is named there says came of it.
[[nodiscard]] Result<std::optional<Recorded>> claimed_result(Store& store, const Call& call);

/// - What policy refuses is refused (Policy::refuse).
/// - A call of a tool that has one in doubt, of which the model was told, is refused
///   (Tool::blocking).
/// - If another call holds the key: one that succeeded is replayed; the same business key with
///   other arguments is refused; one that is under way or in doubt is waited for, as long as the
///   tool's timeout, and then the call is refused; an abandoned one refuses it.
/// - If only claims of bundles that nobody accepted say that it was done (Ledger::find_claims), a
///   person has to decide, unless one decided already that it be made.
/// - A call that needs approval waits for it, or is refused with it.
/// Fails: as the store's readers; `unavailable` if the policy throws: then nobody allowed the call, and
/// it stays as it is.
[[nodiscard]] Result<Admission> admit(HeldSession& held, const CallView& call);

/// Why a call that was begun may not be begun once more, although nothing else stands against it; empty:
/// it may. What the policy forbids since is not run. A bundle that nobody accepted starts nothing: a
/// person decides about its calls, and a decision to run one needs no other approval.
/// Fails: `unavailable` if the policy throws.
[[nodiscard]] Result<std::optional<std::string>> find_objection(const HeldSession& held,
                                                                const CallView& call);

}  // namespace perdure::dispatch
