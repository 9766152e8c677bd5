// What the dispatcher writes down about a call: entries and changes of the ledger, put into a
// draft. Nothing here decides anything.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dispatch/view.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/ledger.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

/// What the model is told of a call.
struct Told {
  std::string content{};
  bool is_error = false;
  std::string replay_of{};  ///< "ses_…:12": whose result it is.
};

/// Who settled a call, if it was not its own outcome.
struct Reason {
  std::string who{};
  std::string why{};
};

class Records {
 public:
  Records(HeldSession& held, Draft& draft) : held_(held), draft_(draft) {}

  /// A result for the model, and the state the call ends in.
  void settle(const CallView& call, CallState state, const Told& told, const Reason& reason = {});
  /// What its session answers: the changes, and the result.
  void answer(const CallView& call, const SessionAnswer& answer);
  /// A result for the model of a call that is settled already.
  void tell(const CallView& call, CallState state, const Told& told) {
    add_result(call, state, told);
  }
  /// It is in doubt; `has_ended`: its attempt has come back, to us, or its process has
  /// ended.
  void doubt(const CallView& call, const std::string& why, bool has_ended);
  /// Tells the model that nobody knows.
  void tell_doubt(const CallView& call, const std::string& why);
  /// Starts the next attempt. One that is dispatched still becomes in doubt before. The two last as
  /// in Attempted.
  void dispatch(const CallView& call, std::int64_t key_generation, bool none_landed);
  void evidence(const CallView& call, const std::string& text);
  void resolution(const CallView& call, std::string_view decision, const Reason& reason);

 private:
  Position add_result(const CallView& call, CallState state, const Told& told);

  HeldSession& held_;
  Draft& draft_;
};

}  // namespace perdure::dispatch
