// A call as the dispatcher sees it: what the log says, what the ledger says, and its tool.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

struct CallView {
  OpenCall open{};
  Call row{};
  const Tool* tool = nullptr;          ///< Null: the session has it no longer.
  std::shared_ptr<const Json> args{};  ///< Null: they cannot be read.
  /// The policy threw when it was asked: nobody allowed the call, and it is asked again before it runs.
  bool is_put_off = false;

  [[nodiscard]] Position call() const { return open.call; }
  [[nodiscard]] bool is_read_only() const { return row.effect == EffectClass::read_only; }
};

/// The calls of this session that have no outcome, in the order of their intents. A fork does not
/// get those of its parent: they belong to the session that issued them.
[[nodiscard]] Result<std::vector<CallView>> open_calls(HeldSession& held);

/// Whether a call of the session keeps the model from being asked. One that it was told of as unknown does not; nor
/// does one of the session that this one was forked from: it is not ours to end.
[[nodiscard]] Result<bool> has_unanswered(Store& store, const SessionId& session,
                                          const State& state);

/// The row of a call that is open in the session's log, of whichever session issued it: this one, or
/// one that it was forked from. Empty: that session is gone, or its id is another one's now.
[[nodiscard]] Result<std::optional<Call>> find_issued(Store& store, SessionId session,
                                                      const OpenCall& open);

/// What became of a call that is open in our log and was issued by a session that this one was
/// forked from. Empty: it is our own, or its session is gone.
[[nodiscard]] Result<std::optional<Call>> find_inherited(HeldSession& held, const OpenCall& open);

/// How people and models are told which call holds a key. Its session may be gone, and its id be
/// that of another one now.
[[nodiscard]] std::string holder_name(const Call& holder);

/// Whether a commit failed only because another call holds the key of one that it dispatches: not a
/// mistake, but the race that keys are for.
[[nodiscard]] bool lost_a_claim(const Error& error, const std::vector<CallView>& dispatched);

}  // namespace perdure::dispatch
