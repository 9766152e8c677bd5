// What others may leave in a session's inbox, from any process, without its lease.
//
// The owner takes it in at the next occasion (Session::take_inbox): it is moved to the log and
// takes effect in one commit, once. What cannot be done any more (a call that was settled
// meanwhile) is moved all the same, and changes nothing.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Leaves mail for one session. `who` and `why` are recorded with it. Each method may be repeated
/// under the same id: it counts once.
class Mail {
 public:
  /// `store` must outlive it.
  Mail(Store& store, SessionId session) : store_(store), session_(std::move(session)) {}

  // Each fails as Inbox::post.
  Result<void> say(const MessageId& id, const Message& message);
  /// To allow a call that somebody has denied changes nothing, unless it `overrules` the denial.
  Result<void> approve(const MessageId& id, Position call, bool allow, const std::string& who,
                       const std::string& why, bool overrules = false);
  Result<void> resolve(const MessageId& id, Position call, const Decision& decision);
  Result<void> pause(const MessageId& id, const std::string& who, const std::string& why);
  Result<void> cancel(const MessageId& id, const std::string& who, const std::string& why);
  /// A child tells its parent how it ended.
  Result<void> child_result(const MessageId& id, const ChildEnd& end);

 private:
  Result<void> post(const MessageId& id, std::string_view kind, const Json& body);

  Store& store_;
  SessionId session_;
};

/// Whether a session that takes it in rests: a turn that runs need not come to its end first.
[[nodiscard]] bool stops_a_turn(const InboxMessage& mail);

}  // namespace perdure
