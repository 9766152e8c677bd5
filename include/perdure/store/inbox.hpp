// Where others leave something for a session they do not own: approvals, answers,
// resolutions, pause and cancel, user messages, results of children.
//
// Posting needs no lease. The owner moves a message into the log and names it as
// consumed in the same commit, so it takes effect once.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct NewInboxMessage {
  SessionId session{};
  MessageId id{};
  std::string kind{};
  Body body{};

  bool operator==(const NewInboxMessage&) const = default;
};

struct InboxMessage {
  SessionId session{};
  MessageId id{};
  std::string kind{};
  Body body{};
  Timestamp at{};

  bool operator==(const InboxMessage&) const = default;
};

/// Whether a message of that kind decides about calls, or says that nothing of them runs any more: an
/// approval, a resolution, the note of a worker's end. They count only in the store they were posted to.
[[nodiscard]] constexpr bool is_decision(std::string_view kind) {
  return kind == "approve" || kind == "resolve" || kind == "ended_worker";
}

class Inbox {
 public:
  virtual ~Inbox() = default;

  /// Leaves a message and makes a waiting session due. A second post under the
  /// same id, consumed or not, changes nothing and is not an error.
  /// Fails: `not_found` if the session does not exist; `conflict` if it is moved to another store, with
  /// the place as subject: post it there; `invalid_argument`, also for a blob that was not put.
  [[nodiscard]] virtual Result<void> post(const NewInboxMessage& message) = 0;

  /// Messages not yet consumed, in order of arrival.
  /// Fails: `not_found`; `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<InboxMessage>> list(const SessionId& session,
                                                               std::size_t limit) = 0;
};

}  // namespace perdure
