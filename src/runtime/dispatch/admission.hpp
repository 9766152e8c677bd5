// Whether a call that was only intended may be made now.

#pragma once

#include <optional>
#include <string>
#include <variant>

#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/calls_report.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
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

/// What the policy says of a call that is in the state; nothing of one whose response is not.
[[nodiscard]] std::optional<Refuse> by_policy(const Policy& policy, const State& state,
                                              const OpenCall& call);

/// Whether somebody has to allow it, or did, or did not.
[[nodiscard]] Admission by_approval(const Policy& policy, const State& state, const OpenCall& call,
                                    const Tool& tool, const Json& args);

/// - What policy refuses is refused (Policy::refuse).
/// - A call of a tool that has one in doubt, of which the model was told, is refused
///   (Tool::blocking).
/// - If another call holds the key: one that succeeded is replayed; the same business key with
///   other arguments is refused; one that is under way or in doubt is waited for, as long as the
///   tool's timeout, and then the call is refused; an abandoned one refuses it.
/// - A call that needs approval waits for it, or is refused with it.
/// Fails: as the store's readers.
[[nodiscard]] Result<Admission> admit(HeldSession& held, const CallView& call);

}  // namespace perdure::dispatch
