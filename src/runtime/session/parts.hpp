// What a Session is made of, and what its methods share: decisions about calls, children, and workers
// that ended.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dispatch/calls.hpp"
#include "dispatch/dispatcher.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/worker.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
struct SessionParts {
  SessionParts(SessionDeps world, Worker::Grip grip, std::optional<Holder> before)
      : writer(world, std::move(grip), std::move(before)), dispatcher(writer) {}

  SessionWriter writer;
  dispatch::Dispatcher dispatcher;  ///< After `held`: its attempts end before the lease does.
  std::optional<Parent> parent{};   ///< Of a child.
};

/// Of a session that this process holds.
[[nodiscard]] SessionParts& session_parts(Session& session);

/// What a person decided about a call before it is made.
struct CallApproval {
  bool allow = false;
  std::string who{};
  std::string why{};
  bool overrules = false;  ///< The person who allows it knows that it was denied.
};

/// Why calls of a cancelled session are not started.
inline constexpr auto of_cancelled_session = "the session was cancelled";

/// Both fail as Session::resolve and Session::approve do, and then leave the draft as it was.
[[nodiscard]] Result<void> add_decision(SessionParts& parts, Draft& draft, Position call,
                                        const Decision& decision);
[[nodiscard]] Result<void> add_approval(SessionParts& parts, Draft& draft, Position call,
                                        const CallApproval& word);

/// A parent's accounts as they are when a draft gets there: one draft may hold the ends of several
/// children.
struct Accounts {
  Budget budget{};
  std::map<std::string, Child, std::less<>> children{};
};
[[nodiscard]] Accounts accounts_of(const SessionWriter& writer);

/// What a session without an origin lacks in its log.
/// Fails: as Log::read.
[[nodiscard]] Result<void> add_beginning(const SessionWriter& writer,
                                         const std::optional<Parent>& parent, Draft& draft);

/// How a session ends.
struct Ending {
  StatusChange change{};
  std::string result{};
};

/// Nothing that a session began is open: it may be completed, fail, go back.
/// Fails: `conflict`, with the call as subject; as the ledger's readers.
[[nodiscard]] Result<void> check_all_settled(SessionWriter& writer);

/// That the session ends so, and what it spent. `budget`: as it is when the draft gets there.
[[nodiscard]] Result<void> add_end(const SessionParts& parts, Draft& draft, Budget& budget,
                                   const Ending& ending);

/// Tells the parent, if there is one, how the session ended, if it did.
/// Fails: as Inbox::post; a parent that is gone is not an error.
[[nodiscard]] Result<void> tell_parent(const SessionParts& parts);

/// Looks for children that ended and could not tell.
/// Fails: as Sessions::read, as Store::commit.
[[nodiscard]] Result<void> ask_children(SessionParts& parts);

// A worker that ended while it held a session, as long as anything remembers it.
//
// Once another worker has the session, the store no longer says who had it before. A successor that
// dies in its turn would leave a third process that cannot know whether the first one still runs. So
// the successor leaves a note in the inbox before it takes the session: the next owner moves the note
// into the log, where it says of each attempt of that worker that it has ended.

/// The kind of such a note; its body is the worker's id, as JSON.
inline constexpr std::string_view ended_worker_kind = "ended_worker";

/// Leaves a note if the session's holder is known to have ended, and may have left calls. A second
/// note about the same worker changes nothing.
/// Fails: as Ledger::list and Inbox::post.
[[nodiscard]] Result<void> note_ended_worker(Store& store, const SessionSummary& row);

/// What a mail does besides being moved to the log; nothing where it makes no sense or comes too late.
/// Fails: as the ledger's readers.
[[nodiscard]] Result<void> take_mail(SessionParts& parts, Draft& draft, Accounts& accounts,
                                     const InboxMessage& mail);

}  // namespace perdure
