// A call as the dispatcher sees it (what the log says, what the ledger says, and its tool), what was
// recorded of it, and what the dispatcher writes down about it.
//
// And the calls that a session is to make, written down before any of them acts: those that a response
// asks for, and those of the step at which a new line begins, a fork's or that of a session that goes
// back. The last response there asks for them, and the line has no outcome of them. A session makes only
// calls that it issued itself, so what another one issued becomes its own call, or is reported.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
struct CallView {
  OpenCall open{};
  Call row{};
  const Tool* tool = nullptr;          ///< Null: the session has it no longer.
  std::shared_ptr<const Json> args{};  ///< Null: they cannot be read.
  /// What the policy has just said of it; empty: it is to be asked before the call is dispatched.
  std::optional<PermitDecision> permission{};
  /// The policy threw: nothing is permitted, and it is asked again before the call runs.
  bool is_put_off = false;

  [[nodiscard]] Position call() const { return open.call; }
  [[nodiscard]] bool is_read_only() const { return row.effect == EffectClass::read_only; }
};

/// The calls of this session that have no outcome, in the order of their intents. A fork does not
/// get those of its parent: they belong to the session that issued them.
[[nodiscard]] Result<std::vector<CallView>> open_calls(const SessionWriter& writer);
[[nodiscard]] Result<std::vector<CallView>> open_calls(Store& store, const SessionId& session,
                                                       const State& state, const Tools& tools);

/// Whether it has an outcome.
[[nodiscard]] bool is_settled(CallState state);

/// Whether a call of the session keeps the model from being asked. One that it was told of as unknown
/// does not; nor does one of the session that this one was forked from: it is not ours to end.
[[nodiscard]] Result<bool> has_unanswered(Store& store, const SessionId& session,
                                          const State& state);

/// A step from the last session of the line to the one that it was forked from, which is added to the
/// line, and from where. Empty: it is not a fork, or is gone, or an id comes again: one may be used
/// again, also by a fork of its own descendant.
/// Fails: as Sessions::read.
[[nodiscard]] Result<std::optional<Parent>> forked_from(Store& store, std::vector<SessionId>& line);

/// The row of a call that is open in the session's log, of whichever session issued it: this one, or
/// one that it was forked from. Empty: that session is gone, or its id is another one's now.
[[nodiscard]] Result<std::optional<Call>> find_issued(Store& store, SessionId session,
                                                      const OpenCall& open);

/// What became of a call that is open in the session's log and was issued by a session that this one
/// was forked from. Empty: it is its own, or that session is gone.
[[nodiscard]] Result<std::optional<Call>> find_inherited(Store& store, const SessionId& session,
                                                         const OpenCall& open);

/// Whether a commit failed only because another call holds the key of one that it dispatches: not a
/// mistake, but the race that keys are for.
[[nodiscard]] bool lost_a_claim(const Error& error, const std::vector<CallView>& dispatched);

class Records {
 public:
  Records(SessionWriter& writer, Draft& draft) : writer_(writer), draft_(draft) {}

  /// A result for the model, and the state the call ends in.
  void settle(const CallView& call, CallState state, const Told& told, const Reason& reason = {});
  /// A verify said that it took effect.
  void settle_landed(const CallView& call, const Landed& landed);
  /// What its session answers: the changes, and the result.
  void answer(const CallView& call, const SessionAnswer& answer);
  /// A result for the model of a call that is settled already.
  void tell(const CallView& call, CallState state, const Told& told) {
    add_result(call, state, told);
  }
  /// It was never made, and is not.
  void refuse(const CallView& call, const std::string& why);
  /// It is in doubt; `has_ended`: its attempt has come back, to us, or its process has
  /// ended.
  void doubt(const CallView& call, const std::string& why, bool has_ended);
  void doubt(const CallView& call, const std::string& why) {
    doubt(call, why, call.open.ended_at.has_value());
  }
  /// Tells the model that the outcome is unknown.
  void tell_doubt(const CallView& call, const std::string& why);
  /// Starts the next attempt. One that is dispatched still becomes in doubt before. The two last as
  /// in Attempted.
  void dispatch(const CallView& call, std::int64_t key_generation, bool none_landed);
  void evidence(const CallView& call, const std::string& text);
  void resolution(const CallView& call, std::string_view decision, const Reason& reason);

 private:
  Position add_result(const CallView& call, CallState state, const Told& told);

  SessionWriter& writer_;
  Draft& draft_;
};

/// Adds an intent for each tool_call of the response, which is the draft's entry at `message`.
/// One that must not be made (Policy::permit) or cannot be (no such tool, arguments that are not a JSON
/// object or lack what names the operation) is refused at once, and the model told why. Returns the
/// others, in order; where the policy threw, the call is only intended.
[[nodiscard]] std::vector<CallView> intend(SessionWriter& writer, Draft& draft, Position message,
                                           const Message& response);

/// How many calls the message asks for.
[[nodiscard]] std::size_t count_calls(const Message& message);

/// The state as of the point; if a response is there and its intents follow, with these: they are
/// one commit, and what became of the calls is found by them. `prefers_own`, for a session that goes
/// back: with its own intents, if it has made the calls of a response that it shares.
/// Fails: as read_state; as the ledger's readers.
[[nodiscard]] Result<State> read_whole_step(Store& store, const SessionId& session, Point point,
                                            bool prefers_own = false);

/// What a fork that begins with that state of the session does about the calls of its last response,
/// in their order, as their rows are now. A row may change right after: the new call claims its key
/// like any other, so what is done once is done once.
/// Fails: as the ledger's readers.
[[nodiscard]] Result<std::vector<CarriedCall>> carried_calls(Store& store, const SessionId& session,
                                                             const State& state,
                                                             bool fresh_effects);

/// Adds that to the draft, which is the first of its line; the calls then have their positions.
/// `fresh`: whose effects are done once from here on, if that is not as in the state.
/// Fails: as Log::read.
[[nodiscard]] Result<void> carry(SessionWriter& writer, Draft& draft, const State& state,
                                 std::vector<CarriedCall>& calls, const Origin* fresh);

/// The same for a session that goes back to that state. Its own calls stay what they are; of those of
/// another session, what came of them is reported, and only what was never started is made.
/// Fails: as carried_calls; as Log::read.
[[nodiscard]] Result<void> carry_back(SessionWriter& writer, Draft& draft, const State& state);

}  // namespace perdure::dispatch
